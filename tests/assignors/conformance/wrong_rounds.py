"""Assignors that break one promise each about balance and about what comes of several rounds."""

from dataclasses import replace
from itertools import chain
from typing import ClassVar

from kgroup.assignors import (
    BUILT_IN,
    GroupAssignment,
    GroupSubscription,
    Member,
    RebalanceProtocol,
    StickyAssignor,
)
from kgroup.errors import DecodeError
from kgroup.wire.user_data import decode_sticky_user_data, encode_sticky_user_data
from tests.assignors.conformance.wrong import Decent, Given, divided

COOPERATIVE = (RebalanceProtocol.COOPERATIVE,)
STICKY = StickyAssignor()


class RejoinsInThePast(Decent):
    after: ClassVar[float] = -1.0

    def assign(self, group):
        return GroupAssignment(divided(group), rejoin_after=self.after)


class RejoinsAtOnce(RejoinsInThePast):
    after = 0.0


class RejoinsNever(RejoinsInThePast):
    after = float("inf")


class RejoinsAtNoTime(RejoinsInThePast):
    after = float("nan")


class HoldsForNobody(Decent):
    """Withholds for no member and without a time."""

    after: ClassVar[float | None] = None

    def assign(self, group):
        given = divided(group)
        held = {each.pop(): None for each in given.values() if len(each) > 2}
        return GroupAssignment(given, held, rejoin_after=self.after)


class HoldsForEver(HoldsForNobody):
    after = 30.0


class HandsOverAtOnce(Decent):
    """Says that it is cooperative, and is not."""

    supported_protocols = COOPERATIVE


class NeverGivesTheWithheld(Decent):
    """Withholds for a member what no other has to hand back."""

    supported_protocols = COOPERATIVE

    def assign(self, group):
        given = divided(group)
        withheld = {tp: who for who, each in given.items() for tp in each}
        return GroupAssignment({who: [] for who in given}, withheld)


class TurnsForEver(Decent):
    """Moves every other partition on in every round, properly revoked."""

    supported_protocols = COOPERATIVE

    def assign(self, group):
        draft = group.draft()
        turn = max((m.generation_id or 0 for m in group.members), default=0) % 1_000
        for place, tp in enumerate(group.partitions):
            able = group.subscribers(tp.topic)
            draft.give(tp, to=able[(place + (turn + place) // 2) % len(able)])
        return draft.freeze(RebalanceProtocol.COOPERATIVE)


class LeavesADifferenceOfTwo(Decent):
    def assign(self, group):
        given = divided(group)
        sizes = sorted(given, key=lambda who: len(given[who]))
        alike = len({member.topics for member in group.members}) == 1
        if alike and len(sizes) > 1 and len(given[sizes[-1]]) == len(given[sizes[0]]) > 0:
            given[sizes[-1]].append(given[sizes[0]].pop())
        return GroupAssignment(given)


class GoesByTopic(Decent):
    """Deals out every topic by itself from the first member on, as Kafka's range does."""

    def assign(self, group):
        return BUILT_IN["range"].assign(group)


class Sticky(Decent):
    """Sticky by user data of its own."""

    def assign(self, group):
        return STICKY.assign(group)

    def encode_user_data(self, owned, generation_id):
        return STICKY.encode_user_data(owned, generation_id)


def held_in(group: GroupSubscription) -> Given:
    """Return what members that are not new say they held, in a group without false claims."""
    return {
        m.member_id: list(decode_sticky_user_data(m.user_data).partitions)
        for m in group.members
        if m.generation_id is not None and m.user_data
    }


def afresh(group: GroupSubscription) -> GroupAssignment:
    """Divide as if no member had anything, in the opposite order."""
    given: Given = {member.member_id: [] for member in group.members}
    for place, tp in enumerate(group.partitions):
        able = group.subscribers(tp.topic)
        given[able[-1 - place % len(able)].member_id].append(tp)
    return GroupAssignment(given)


class MovesWhenOneLeaves(Sticky):
    def assign(self, group):
        try:
            held = held_in(group)
        except DecodeError:
            return STICKY.assign(group)
        settled = len(held) == len(group.members)
        orphans = len(group.partitions) > sum(map(len, held.values()))
        return afresh(group) if settled and orphans else STICKY.assign(group)


class MovesWhenOneJoins(Sticky):
    def assign(self, group):
        new = [member for member in group.members if member.user_data is None]
        racks = any(member.rack is not None for member in group.members)
        joining = 0 < len(new) < len(group.members) and not racks
        return afresh(group) if joining else STICKY.assign(group)


class MovesWithoutReason(Sticky):
    """Hands everything to the next member when there is nothing to do."""

    def assign(self, group):
        try:
            held = held_in(group)
        except DecodeError:
            return STICKY.assign(group)
        whole = sorted(chain.from_iterable(held.values())) == list(group.partitions)
        alike = len({member.topics for member in group.members}) == 1
        if not (whole and alike and len(held) == len(group.members)):
            return STICKY.assign(group)
        names = list(held)
        return GroupAssignment(dict(zip([*names[1:], *names[:1]], held.values(), strict=True)))


class RemembersByEcho(Decent):
    """Sticky by what the leader sends along, and members send back."""

    reads: ClassVar[bool] = True

    def assign(self, group):
        members = [m if self.reads else replace(m, user_data=None) for m in group.members]
        answer = STICKY.assign(GroupSubscription(tuple(members), group.topics, group.now))
        known = [generation(member) for member in members]
        latest = min(1 + max(known, default=0), 2**31 - 1)
        memory = {
            who: encode_sticky_user_data(each, latest) for who, each in answer.partitions.items()
        }
        return GroupAssignment(answer.partitions, user_data=memory)


class IgnoresTheEcho(RemembersByEcho):
    reads = False


def generation(member: Member) -> int:
    try:
        return decode_sticky_user_data(member.user_data or b"").generation_id or 0
    except DecodeError:
        return 0
