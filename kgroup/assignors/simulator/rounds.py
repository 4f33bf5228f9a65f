"""One rebalance of a simulated group: what members send, what the leader answers, until it settles.

Decides: what a member's subscription says in each round, what its reader has to stop for, and
when another round follows, as members and leaders of this client do it.
Never: reads a clock by itself; it is handed one, and only to time the assignor.
KIPs: 429 (owned partitions, follow-up rounds), 792 (generation in the subscription), 881.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from kgroup.assignors.api import Assignor, LastAssignment, UserDataAssignor
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.leader import divide
from kgroup.assignors.member import Member
from kgroup.assignors.numbering import Numbered
from kgroup.assignors.simulator.measures import Owned
from kgroup.assignors.simulator.population import Population
from kgroup.assignors.simulator.scenario import SimulatedMember
from kgroup.assignors.simulator.sending import encoded
from kgroup.errors import AssignorError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.partition_runs import runs_of

MOST_ROUNDS: Final = 50
"""Rounds after which a group that goes on and on is given up."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one member remembers between rounds.

    Args:
        owned: what it was assigned last.
        generation_id: in which generation, None before its first.
        user_data: what the assignor sent along.
    """

    owned: Sequence[TopicPartition] = ()
    generation_id: int | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """A group between two rounds.

    Args:
        population: its members and topics.
        held: member id -> what it remembers; a member that is new is missing.
        now: seconds since the epoch on the leader's clock.
        generation_id: of the last round.
        rejoin_at: when the leader begins a round by itself, None for never.
    """

    population: Population
    held: Mapping[str, Held]
    now: float
    generation_id: int = 1
    rejoin_at: float | None = None

    @property
    def owned(self) -> Owned:
        """What each member owns."""
        return {member_id: held.owned for member_id, held in self.held.items()}


@dataclass(frozen=True, slots=True)
class Play:
    """How a scenario is played.

    Args:
        assignor: of all members.
        protocol: what the members follow.
        clock: seconds that only grow, to time the assignor; None times nothing.
    """

    assignor: Assignor
    protocol: RebalanceProtocol
    clock: Callable[[], float] | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """What rebalances cost.

    Args:
        rounds: how many there were.
        stopped: how often a partition was taken from a reader that was still there, be it only
            for the round.
        seconds: that the assignor took, None when it was not timed.
    """

    rounds: int = 0
    stopped: int = 0
    seconds: float | None = None

    def __add__(self, other: "Tally") -> "Tally":
        seconds = self.seconds if other.seconds is None else (self.seconds or 0.0) + other.seconds
        return Tally(self.rounds + other.rounds, self.stopped + other.stopped, seconds)


def settle(before: Situation, play: Play) -> tuple[Situation, Tally]:
    """Play rounds until no member has to hand anything back any more.

    Raises:
        AssignmentError: the leader would not send the assignment, or there is no end to it.
    """
    situation, total = before, Tally()
    if not before.population.members:
        return replace(before, held=MappingProxyType({}), rejoin_at=None), total
    while total.rounds < MOST_ROUNDS:
        situation, tally, again = _round(situation, play)
        total += tally
        if not again:
            return situation, total
    reason = f"has members hand partitions back after {MOST_ROUNDS} rounds still"
    raise AssignorError(play.assignor.name, [reason])


def _round(before: Situation, play: Play) -> tuple[Situation, Tally, bool]:
    """Play one round; the last of what it returns says whether another one follows."""
    population = before.population
    eager = play.protocol is RebalanceProtocol.EAGER
    kept = {
        member_id: () if eager else _still_subscribed(before.held.get(member_id, Held()), member)
        for member_id, member in population.members.items()
    }
    assignment, seconds = _assign(before, kept, play)
    generation_id = before.generation_id + 1
    held = {
        member_id: Held(
            _kept_as_it_is(assignment.of(member_id)),
            generation_id,
            assignment.user_data.get(member_id),
        )
        for member_id in population.members
    }
    handed_back = sum(
        len(set(kept[member_id]).difference(held[member_id].owned)) for member_id in held
    )
    given_up = sum(
        len(before.held[member_id].owned) - len(kept[member_id])
        for member_id in held
        if member_id in before.held
    )
    after = replace(
        before,
        held=MappingProxyType(held),
        generation_id=generation_id,
        rejoin_at=None if assignment.rejoin_after is None else before.now + assignment.rejoin_after,
    )
    return after, Tally(1, handed_back + given_up, seconds), handed_back > 0


def _kept_as_it_is(partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    """Return immutable partitions; a million of them are made only where they are needed."""
    return partitions if isinstance(partitions, Numbered) else tuple(partitions)


def _still_subscribed(held: Held, member: SimulatedMember) -> Sequence[TopicPartition]:
    """Return what a cooperative member joins with: the rest it revokes before."""
    if all(topic in member.topics for topic, _ in runs_of(held.owned)):
        return held.owned
    return tuple(tp for tp in held.owned if tp.topic in member.topics)


def _assign(
    before: Situation, kept: Mapping[str, Sequence[TopicPartition]], play: Play
) -> tuple[GroupAssignment, float | None]:
    """Have the assignor assign, and look at the result as a leader does."""
    members = tuple(
        _subscription(member, before.held.get(member_id, Held()), kept[member_id], play.assignor)
        for member_id, member in before.population.members.items()
    )
    topics = before.population.topics
    wanted = frozenset(chain.from_iterable(member.topics for member in members))
    metadata = {name: topics[name].metadata() for name in wanted}
    group = GroupSubscription(members, metadata, before.now)
    if play.clock is None:
        return divide(play.assignor, group, play.protocol), None
    timed = _Timed(play.assignor, play.clock)
    return divide(timed, group, play.protocol), timed.seconds


class _Timed:
    """An assignor that is timed.

    Args:
        assignor: the real one.
        clock: seconds that only grow.
    """

    def __init__(self, assignor: Assignor, clock: Callable[[], float]) -> None:
        self.name = assignor.name
        self.supported_protocols = assignor.supported_protocols
        self.seconds = 0.0
        self._assignor = assignor
        self._clock = clock

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions."""
        began = self._clock()
        assignment = self._assignor.assign(group)
        self.seconds = self._clock() - began
        return assignment


def _subscription(
    member: SimulatedMember, held: Held, kept: Sequence[TopicPartition], assignor: Assignor
) -> Member:
    if member.user_data is not None:
        user_data: bytes | None = member.user_data
    elif isinstance(assignor, UserDataAssignor):
        last = LastAssignment(held.owned, held.user_data)
        user_data = encoded(assignor, last, held.generation_id)
    else:
        user_data = held.user_data
    return Member(
        member_id=member.member_id,
        topics=member.topics,
        group_instance_id=member.group_instance_id,
        rack=member.rack,
        owned=kept,
        generation_id=held.generation_id,
        user_data=user_data,
    )
