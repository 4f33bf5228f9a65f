"""A group over several rounds: what its members hold and remember, carried by the real bytes.

Decides: what each member says when it joins; when the next round comes: because a member had to
hand something back, or because the assignor asked for it; the single changes between rounds.
Never: judges (`checks_rounds` does); passes anything from one round to the next that a real group
would not: an assignor's knowledge travels through the members' subscriptions.
KIPs: 429 (a cooperative member revokes what it is not given again, and joins once more), 792, 881.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum
from typing import Final

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.conformance.checks_whole import sound
from kgroup.assignors.conformance.paste import answer_as_text
from kgroup.assignors.conformance.subject import Elsewhere, Subject
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.leader import encode_group_assignment, read_members
from kgroup.assignors.member import Member, PartitionRacks, TopicsMetadata
from kgroup.errors import KGroupError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    encode_subscription,
)

PATIENCE: Final = 12
"""How many times in a row a group waits for what the assignor holds back."""

BEGAN_AT: Final = 1_700_000_000.0
"""Seconds since the epoch when a rehearsed group has its first round."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a group.

    Args:
        group: what the assignor was given.
        answer: what it returned.
        revoked: what members hold and were not given again, so that they hand it back.
    """

    group: GroupSubscription
    answer: GroupAssignment
    revoked: frozenset[TopicPartition] = frozenset()

    @property
    def goes_on(self) -> bool:
        """Whether another round is sure to come."""
        return bool(self.revoked) or self.answer.rejoin_after is not None


@dataclass(slots=True)
class _Seat:
    """One member between two rounds: itself, and what it was given last."""

    member: Member
    last: LastAssignment = field(default_factory=LastAssignment)
    generation_id: int | None = None


class Gathering:
    """A group whose members all offer the assignor under test, and nothing else.

    Args:
        subject: the assignor.
        group: the first members, and the topics; claims are ignored.

    Attributes:
        log: what happened so far, in lines.
    """

    def __init__(self, subject: Subject, group: GroupSubscription) -> None:
        self._subject = subject
        self._seats = {m.member_id: _Seat(m) for m in group.members}
        self._topics: dict[str, dict[int, PartitionRacks]] = {
            topic: dict(racks) for topic, racks in group.topics.items()
        }
        self._generation_id = 0
        self._now = BEGAN_AT
        self._rounds = 0
        self._asked = group
        self.log: list[str] = []

    @property
    def members(self) -> tuple[Member, ...]:
        """The members now."""
        return tuple(seat.member for seat in self._seats.values())

    @property
    def asked(self) -> GroupSubscription:
        """The group as the assignor last saw it."""
        return self._asked

    @property
    def topics(self) -> TopicsMetadata:
        """The topics now."""
        return self._topics

    def held(self) -> dict[str, frozenset[TopicPartition]]:
        """Return member id -> what it holds."""
        return {who: frozenset(seat.last) for who, seat in self._seats.items()}

    def wait(self, seconds: float) -> None:
        """Let time go by on the leader's clock."""
        self._now += seconds
        self.log.append(f"{seconds:g} s go by")

    def leave(self, member_id: str) -> None:
        """Take a member out."""
        del self._seats[member_id]
        self.log.append(f"{member_id!r} leaves")

    def join(self, member: Member) -> None:
        """Put a member in that has never been here."""
        self._seats[member.member_id] = _Seat(member)
        self.log.append(f"{member.member_id!r} joins")

    def subscribe(self, member_id: str, topics: frozenset[str]) -> None:
        """Have a member want other topics."""
        seat = self._seats[member_id]
        seat.member = replace(seat.member, topics=topics)
        named = ", ".join(sorted(topics)) or "nothing"
        self.log.append(f"{member_id!r} now subscribes to {named}")

    def grow(self, topic: str, numbers: Iterable[int]) -> None:
        """Add partitions to a topic."""
        racks = self._topics.setdefault(topic, {})
        like = next(iter(racks.values()), PartitionRacks())
        racks.update(dict.fromkeys(numbers, like))
        self.log.append(f"topic {topic!r} now has the partitions {sorted(racks)}")

    def play(self) -> Round:
        """Play one round, whatever comes out of it.

        Raises:
            Elsewhere: the assignor raises, or its answer cannot be sent.
        """
        group = self._asked = self._described()
        answer = self._subject.ask(group)
        try:
            sent = encode_group_assignment(group, answer)
        except KGroupError as error:
            raise Elsewhere(str(error)) from error
        self._generation_id += 1
        revoked: set[TopicPartition] = set()
        for who, data in sent.items():
            seat, read = self._seats[who], decode_assignment(data)
            revoked |= self._holding(seat) - set(read.partitions)
            seat.last = LastAssignment(read.partitions, read.user_data)
            seat.generation_id = self._generation_id
        self._rounds += 1
        shown = "; ".join(answer_as_text(answer).splitlines())
        self.log.append(f"round {self._rounds}: {shown}")
        return Round(group, answer, frozenset(revoked))

    def play_sound(self) -> Round:
        """Play one round that a leader would let through.

        Raises:
            Elsewhere: no leader would, for which another promise answers.
        """
        played = self.play()
        sound(self._subject, played.group, played.answer, self._subject.protocol)
        return played

    def settle(self, most: int) -> bool:
        """Play rounds until nothing has to be handed back and nothing is withheld.

        Args:
            most: rounds after which to give up. Those that come only because the assignor asked
                for them after some time do not count.

        Returns:
            Whether the group came to rest.

        Raises:
            Elsewhere: a round is not sound, nothing brings the next one, or the assignor holds
                something back for longer than this waits.
        """
        waits = 0
        while most:
            played = self.play_sound()
            if not played.revoked and not played.answer.withheld:
                return True
            if played.revoked:
                most -= 1
                continue
            if played.answer.rejoin_after is None or waits == PATIENCE:
                raise Elsewhere("something is withheld, and no round follows that would give it")
            waits += 1
            self.wait(played.answer.rejoin_after)
        return False

    def _described(self) -> GroupSubscription:
        sent = [
            (who, seat.member.group_instance_id, self._subscription(seat))
            for who, seat in self._seats.items()
        ]
        members = read_members(sent, self._subject.protocol)
        topics = {topic: dict(racks) for topic, racks in self._topics.items()}
        return GroupSubscription(members, topics, self._now)

    def _subscription(self, seat: _Seat) -> bytes:
        """Return the bytes with which a member joins."""
        subscription = MemberSubscription(
            topics=tuple(seat.member.topics),
            owned=tuple(self._holding(seat)),
            generation_id=seat.generation_id,
            rack=seat.member.rack,
            user_data=self._subject.encode(seat.last, seat.generation_id),
        )
        return encode_subscription(subscription)

    def _holding(self, seat: _Seat) -> frozenset[TopicPartition]:
        """Return what a member holds when it joins; what it no longer wants it has revoked."""
        if self._subject.protocol is RebalanceProtocol.EAGER:
            return frozenset()
        return frozenset(tp for tp in seat.last if tp.topic in seat.member.topics)


class Kind(Enum):
    """What may happen."""

    NOTHING = "nothing"
    LEAVE = "leave"
    JOIN = "join"
    GROW = "grow"
    RESTART = "restart"
    SUBSCRIBE = "subscribe"

    @property
    def keeps_equal(self) -> bool:
        """Whether equal subscriptions are still equal afterwards."""
        return self is not Kind.SUBSCRIBE


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Args:
        kind: what happens.
        which: the member or the topic, modulo how many there are.
    """

    kind: Kind
    which: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """A group, and what happens to it.

    Args:
        group: the first members; they claim nothing.
        early: what happens first, so that the group has a past.
        change: what happens before it is watched.
        equal: whether all members subscribe to all topics.
    """

    group: GroupSubscription
    early: Change
    change: Change
    equal: bool = False


def happen(gathering: Gathering, change: Change, *, equal: bool) -> str:
    """Have something happen.

    Args:
        gathering: to which group.
        change: what.
        equal: whether a newcomer subscribes to everything.

    Returns:
        The member id or the topic it was about; empty for nothing.

    Raises:
        Elsewhere: it cannot, as when the last member would leave.
    """
    members = sorted(member.member_id for member in gathering.members)
    topics = sorted(gathering.topics)
    which = change.which
    match change.kind:
        case Kind.NOTHING:
            return ""
        case Kind.LEAVE if len(members) > 1:
            who = members[which % len(members)]
            gathering.leave(who)
            return who
        case Kind.JOIN:
            return _join(gathering, which, equal=equal)
        case Kind.RESTART if members:
            return _restart(gathering, members[which % len(members)])
        case Kind.GROW if topics:
            topic = topics[which % len(topics)]
            last = max(gathering.topics[topic], default=-1)
            gathering.grow(topic, range(last + 1, last + 2 + which % 3))
            return topic
        case Kind.SUBSCRIBE if members:
            who = members[which % len(members)]
            gathering.subscribe(who, _some_topics(gathering, which))
            return who
        case _:
            raise Elsewhere("nothing can happen here")


def _join(gathering: Gathering, which: int, *, equal: bool) -> str:
    """Have a member join with the first or the last id, and return that id."""
    racks = sorted({member.rack for member in gathering.members if member.rack is not None})
    who = f"{'0' if which % 2 else 'z'}-new-{len(gathering.members)}"
    topics = _some_topics(gathering, 0 if equal else which)
    rack = racks[which % len(racks)] if racks else None
    gathering.join(Member(member_id=who, topics=topics, rack=rack))
    return who


def _restart(gathering: Gathering, who: str) -> str:
    """Have a member come back with another id, a static one with its instance id, and no memory."""
    (member,) = (each for each in gathering.members if each.member_id == who)
    again = replace(member, member_id=f"{who}-again")
    gathering.leave(who)
    gathering.join(again)
    return again.member_id


def _some_topics(gathering: Gathering, which: int) -> frozenset[str]:
    """Return a part of what members subscribe to; with 0 all of it."""
    wanted = frozenset().union(*(member.topics for member in gathering.members))
    return frozenset(sorted(wanted)[which % 3 :])
