"""A scenario played with one assignor, event by event.

Decides: when the group rebalances, and what is reported after each event.
Never: goes on after the assignor has failed; waits for anything (time is a number here).
KIPs: 345 (what a static member gets back), 429.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar, Final

from kgroup.assignors.api import Assignor, LastAssignment, common_protocol
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.simulator.measures import (
    Balance,
    Owned,
    Owners,
    RackMatches,
    balance,
    count_moves,
    owners,
    rack_matches,
)
from kgroup.assignors.simulator.population import Change, Step, changes
from kgroup.assignors.simulator.rounds import Held, Play, Situation, Tally, settle
from kgroup.assignors.simulator.scenario import Event, Scenario
from kgroup.assignors.simulator.sending import addressed
from kgroup.assignors.sticky import StickyAssignor
from kgroup.errors import ArgumentError, AssignorError
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass

_MOST_REJOINS: Final = 1_000
"""Rebalances that a leader may begin by itself during one event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the group is after one event, and what it took.

    Args:
        event: with everything filled in that the scenario left open; None is the beginning.
        rounds: JoinGroup rounds until the group had settled.
        balance: how evenly partitions are spread.
        moves: partitions taken from a member that is still there.
        placed: partitions given to a member that no living member had.
        stopped: how often a partition was taken from a reader that was still there, be it only
            for the length of a round.
        unowned: partitions that exist, are subscribed to, and have no owner now.
        racks: how many partitions are near to their owners, None where racks are not known.
        seconds: that the assignor took in all rounds, None when it was not timed.
        owned: what each member owns.
    """

    event: Event | None
    rounds: int
    balance: Balance
    moves: int
    placed: int
    stopped: int
    unowned: int
    racks: RackMatches | None
    seconds: float | None
    owned: Owned


class Optimum:
    """The least moves that the best balance takes, as an assignor to play a scenario with.

    It is the `sticky` assignor without racks, whose balance is the best and whose moves are the
    fewest there can be; racks would be paid for with moves. It is about the target alone, so what
    it says about rounds, and about what an eager protocol stops, means nothing. For subscriptions
    that differ, its search for fewer moves is bounded in very large groups.
    """

    name: ClassVar[str] = "optimum"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions as `sticky` does where no member has a rack."""
        members = tuple(replace(member, rack=None) for member in group.members)
        return StickyAssignor().assign(replace(group, members=members))

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        """Return what a member of `sticky` sends."""
        return StickyAssignor().encode_user_data(owned, generation_id)


def play(
    scenario: Scenario,
    assignor: Assignor,
    *,
    protocol: RebalanceProtocol | None = None,
    clock: Callable[[], float] | None = None,
) -> Iterator[Outcome]:
    """Play a scenario; yield the state of the group at the beginning and after each event.

    Args:
        scenario: the group and its events; all are checked before the first is played.
        assignor: what all members use.
        protocol: what they follow; None for the highest that the assignor supports.
        clock: seconds that only grow, to time the assignor; None times nothing.

    Raises:
        ArgumentError: an event does not fit, or the assignor does not support the protocol.
        AssignmentError: (while iterating) the leader would not send an assignment; nothing comes
            after it. AssignorError when the assignor is to blame.
    """
    supported = assignor.supported_protocols
    chosen = common_protocol([assignor]) if protocol is None else protocol
    if chosen not in supported:
        known = ", ".join(each.value for each in supported)
        expected = f"one that {assignor.name!r} supports: {known}"
        raise ArgumentError("protocol", chosen.value, expected)
    met = addressed(scenario, assignor)
    return _outcomes(met, changes(met), Play(assignor, chosen, clock))


def _outcomes(scenario: Scenario, story: tuple[Change, ...], how: Play) -> Iterator[Outcome]:
    situation = _beginning(scenario, story[0])
    for change in story:
        course = _Course(situation, how)
        for step in change.steps:
            course.take(step)
        course.wait(change.seconds)
        situation = course.situation
        yield course.outcome(change.event)


def _beginning(scenario: Scenario, first: Change) -> Situation:
    held = {
        member.member_id: Held(member.owned, 1, member.assigned_user_data)
        for member in scenario.members
        if member.owned or member.assigned_user_data is not None
    }
    return Situation(first.steps[0].population, MappingProxyType(held), scenario.now)


class _Course:
    """One event on its way: the group as it is by now, and what it took so far.

    Args:
        situation: before the event.
        how: it is played.
    """

    def __init__(self, situation: Situation, how: Play) -> None:
        self.situation = situation
        self._how = how
        self._tally = Tally()
        self._owners: Owners | None = None
        self._moved = 0
        self._placed = 0

    def take(self, step: Step) -> None:
        """Change the group, and have it rebalance if it notices."""
        held = dict(self.situation.held)
        if step.renamed is not None:
            old, new = step.renamed
            if old in held:
                held[new] = held.pop(old)
        self.situation = replace(
            self.situation, population=step.population, held=MappingProxyType(held)
        )
        self._owners = None
        if step.rebalances:
            self._rebalance()

    def wait(self, seconds: float) -> None:
        """Let time pass, and have the leader rejoin when it is due."""
        end = self.situation.now + seconds
        for _ in range(_MOST_REJOINS):
            due = self.situation.rejoin_at
            if due is None or due > end or not seconds:
                break
            self.situation = replace(self.situation, now=max(due, self.situation.now))
            self._rebalance()
        else:
            reason = f"has the leader rejoin more than {_MOST_REJOINS} times in {seconds:g} s"
            raise AssignorError(self._how.assignor.name, [reason])
        self.situation = replace(self.situation, now=end)

    def outcome(self, event: Event | None) -> Outcome:
        """Return how the group is now, and what it took."""
        population, owned = self.situation.population, self.situation.owned
        after = self._owners or owners(population, owned)
        subscribed = frozenset().union(*(each.topics for each in population.members.values()))
        return Outcome(
            event=event,
            rounds=self._tally.rounds,
            balance=balance(population, owned),
            moves=self._moved,
            placed=self._placed,
            stopped=self._tally.stopped,
            unowned=sum(list(after[topic]).count(None) for topic in subscribed),
            racks=rack_matches(population, after),
            seconds=self._tally.seconds,
            owned=owned,
        )

    def _rebalance(self) -> None:
        before = owners(self.situation.population, self.situation.owned)
        self.situation, tally = settle(self.situation, self._how)
        after = owners(self.situation.population, self.situation.owned)
        moved, placed = count_moves(self.situation.population, before, after)
        self._tally += tally
        self._owners = after
        self._moved += moved
        self._placed += placed
