"""Assignors that break one promise each about single answers, and a few that cannot help two.

They are classes at the top of a module, so that another process can make them, too.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from random import random
from typing import Any, ClassVar

from kgroup.assignors import (
    USER_DATA_LIMIT,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    RebalanceProtocol,
)
from kgroup.types import TopicPartition

EAGER = (RebalanceProtocol.EAGER,)

Given = dict[str, list[TopicPartition]]


def divided(group: GroupSubscription) -> Given:
    """Give each partition to the subscriber with the fewest, by itself a decent assignor."""
    given: Given = {member.member_id: [] for member in group.members}
    for tp in group.partitions:
        able = [member.member_id for member in group.subscribers(tp.topic)]
        given[min(able, key=lambda who: len(given[who]))].append(tp)
    return given


class Decent:
    """Keeps every promise that it makes, and makes few."""

    name: ClassVar[str] = "decent"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = EAGER

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        return GroupAssignment(divided(group))


class RaisesWithoutMembers(Decent):
    def assign(self, group):
        assert group.members
        return super().assign(group)


class CannotReadNames(Decent):
    def assign(self, group):
        for member in group.members:
            member.member_id.encode("ascii")
        return super().assign(group)


class BelievesUserData(Decent):
    def assign(self, group):
        for member in group.members:
            (member.user_data or b"x").decode()
        return super().assign(group)


class BelievesItsEcho(Decent):
    """Reads what it sent along itself, as if it could not be cut off."""

    def assign(self, group):
        for member in group.members:
            head, colon, number = (member.user_data or b"").partition(b"memory:")
            assert not (colon and not head) or int(number)
        memory = {member.member_id: b"memory:1" for member in group.members}
        return GroupAssignment(divided(group), user_data=memory)


class BelievesClaims(Decent):
    def assign(self, group):
        for member in group.members:
            for tp in member.owned:
                group.topics.get(tp.topic, {tp.partition: None})[tp.partition]
        return super().assign(group)


class AddsClaims(Decent):
    """Takes claims for tuples, which those that came by wire are not."""

    def assign(self, group):
        for member in group.members:
            _ = tuple.__add__((), member.owned)
        return super().assign(group)


class ReturnsADict(Decent):
    def assign(self, group):
        return divided(group)


class NamesPartitionsByText(Decent):
    def assign(self, group):
        given = divided(group)
        named: Any = {who: [str(tp) for tp in each] for who, each in given.items()}
        return GroupAssignment(named)


class SendsText(Decent):
    def assign(self, group):
        texts: Any = {member.member_id: "text" for member in group.members}
        return GroupAssignment(divided(group), user_data=texts)


class SendsTooMuch(Decent):
    def assign(self, group):
        much = {member.member_id: bytes(USER_DATA_LIMIT + 1) for member in group.members}
        return GroupAssignment(divided(group), user_data=much)


class LeavesIdleMembersOut(Decent):
    def assign(self, group):
        return GroupAssignment({who: each for who, each in divided(group).items() if each})


class ForgetsTheLast(Decent):
    def assign(self, group):
        given = divided(group)
        for each in given.values():
            del each[2:]
        return GroupAssignment(given)


class GivesTwice(Decent):
    def assign(self, group):
        given = divided(group)
        for each in given.values():
            each += each[:1]
        return GroupAssignment(given)


class WithholdsWhatItGives(Decent):
    def assign(self, group):
        given = divided(group)
        twice = {tp: None for each in given.values() for tp in each[3:]}
        return GroupAssignment(given, twice, rejoin_after=1.0)


class GivesToAnybody(Decent):
    """Ignores subscriptions."""

    def assign(self, group):
        given: Given = {member.member_id: [] for member in group.members}
        for tp in group.partitions:
            given[min(given, key=lambda who: len(given[who]))].append(tp)
        return GroupAssignment(given)


class GivesToAStranger(Decent):
    def assign(self, group):
        given = divided(group)
        return GroupAssignment(
            {**given, "ghost": [given[who].pop() for who in given if given[who]]}
        )


class InventsAPartition(Decent):
    def assign(self, group):
        given = divided(group)
        for who in given:
            given[who] += [TopicPartition(tp.topic, 1_000) for tp in given[who][:1]]
            break
        return GroupAssignment(given)


class WritesToAStranger(Decent):
    def assign(self, group):
        return GroupAssignment(divided(group), user_data={"ghost": b""})


class CountsFromZero(Decent):
    """Takes partition numbers for 0, 1, 2 and so on."""

    def assign(self, group):
        given: Given = {member.member_id: [] for member in group.members}
        for topic, racks in group.topics.items():
            first = group.subscribers(topic)[0].member_id
            given[first] += [TopicPartition(topic, number) for number in range(len(racks))]
        return GroupAssignment(given)


class DrawsChance(Decent):
    def assign(self, group):
        return GroupAssignment(divided(group), user_data=stamped(group, random()))


class CountsOnItsClass(Decent):
    """Shares its memory among all assignors of a process."""

    calls: ClassVar[Iterator[int]] = count()

    def assign(self, group):
        return GroupAssignment(divided(group), user_data=stamped(group, next(self.calls)))


class CountsItsCalls(Decent):
    def __init__(self):
        self.calls = 0

    def assign(self, group):
        self.calls += 1
        return GroupAssignment(divided(group), user_data=stamped(group, self.calls))


class RemembersTheNewestGeneration(Decent):
    """As Java's sticky assignor does; a group that is made again has older ones."""

    def __init__(self):
        self.newest = 0

    def assign(self, group):
        known = [m.generation_id for m in group.members if m.generation_id is not None]
        self.newest = max([self.newest, *known])
        return GroupAssignment(divided(group), user_data=stamped(group, self.newest))


def stamped(group: GroupSubscription, number: float) -> Mapping[str, bytes]:
    return {member.member_id: str(number).encode() for member in group.members}


class TakesPartitionsAsListed(Decent):
    """Walks over the numbers of a topic in the order in which metadata came."""

    def assign(self, group):
        given: Given = {member.member_id: [] for member in group.members}
        for topic, racks in group.topics.items():
            able = [member.member_id for member in group.subscribers(topic)]
            for place, number in enumerate(racks):
                given[able[place % len(able)]].append(TopicPartition(topic, number))
        return GroupAssignment(given)


class FollowsTheOrderOfClaims(Decent):
    def assign(self, group):
        claims = {m.member_id: b"".join(str(tp).encode() for tp in m.owned) for m in group.members}
        return GroupAssignment(divided(group), user_data=claims)


class WalksOverASet(Decent):
    def assign(self, group):
        given: Given = {member.member_id: [] for member in group.members}
        for place, tp in enumerate(set(group.partitions)):
            able = group.subscribers(tp.topic)
            given[able[place % len(able)].member_id].append(tp)
        return GroupAssignment(given)


class ReadsHash(Decent):
    def assign(self, group):
        given: Given = {member.member_id: [] for member in group.members}
        for tp in group.partitions:
            able = group.subscribers(tp.topic)
            given[able[hash(tp.topic) % len(able)].member_id].append(tp)
        return GroupAssignment(given)


class TakesFromTheGroup(Decent):
    """Uses up the topics as it gives their partitions away."""

    def assign(self, group):
        given = divided(group)
        for racks in group.topics.values():
            racks.clear()
        return GroupAssignment(given)


class SortsClaims(Decent):
    def assign(self, group):
        for member in group.members:
            if isinstance(member.owned, list):
                member.owned.sort(reverse=True)
        return super().assign(group)


class Stamps(Decent):
    """An assignor with user data, well made."""

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        return None if generation_id is None else generation_id.to_bytes(4)


class StampsText(Stamps):
    def encode_user_data(self, owned, generation_id):
        return str(generation_id)


class StampsTooMuch(Stamps):
    def encode_user_data(self, owned, generation_id):
        return bytes(USER_DATA_LIMIT + 1)


class StampsCounts(Stamps):
    calls: ClassVar[Iterator[int]] = count()

    def encode_user_data(self, owned, generation_id):
        return str(next(self.calls)).encode()


class StampsOnlyWhatItHolds(Stamps):
    def encode_user_data(self, owned, generation_id):
        return str(owned[0]).encode()


class CannotReadItsStamps(Stamps):
    def assign(self, group):
        for member in group.members:
            if member.user_data is not None and len(member.user_data) == 4:
                member.user_data.decode("ascii").index("\x09")
        return super().assign(group)
