"""What the search led to, each as the schedule that showed it."""

from collections.abc import Callable

import pytest

from kgroup.machine.claims import HoldingState
from kgroup.membership.value import GroupMember
from kgroup.testing.broker.groups.group import Phase
from kgroup.types import MemberState
from tests.search.exhaustive.local import KILLED
from tests.search.exhaustive.scope import Fault, Mode, Scope
from tests.search.exhaustive.world import State, World

_PATIENCE = 300


class Peace:
    """A world that is mostly left in peace: the first tame move happens."""

    def __init__(self, scope: Scope) -> None:
        self.world = World(scope, reduced=False)
        self.state = self.world.start

    def happen(self, name: str, slot: int | None) -> None:
        """Let one move happen, of a member or of the coordinator."""
        moves = self.world.moves(self.state)
        self.state = next(m for m in moves if m.name.startswith(name) and m.slot == slot).state

    def rest(self, *, until: Callable[[], bool] = lambda: False, never: str = "nothing") -> None:
        """Let tame moves happen until something is so, but none of this name."""
        for _ in range(_PATIENCE):
            tame = (m for m in self.world.moves(self.state) if m.tame and never not in m.name)
            move = next(tame, None)
            if move is None or until():
                return
            assert move.broken is None
            self.state = move.state

    def members(self) -> list[GroupMember]:
        states: State = self.state[: self.world.scope.members]
        return [self.world.local.process(each).member for each in states if each > KILLED]

    def group(self) -> tuple[Phase, int]:
        """Return the group's phase, and how many members it has."""
        room = self.world.coming.desks.values[self.state[self.world.scope.members]].room
        assert room is not None
        return room.phase, len(room.seats)


@pytest.mark.slow
def test_a_static_member_killed_while_it_hands_a_partition_back_leaves_none_without_owner() -> None:
    """1. a leads and has two partitions, b two; 2. c joins, and b must hand one back; 3. its batch
    takes its time, the rounds are over; 4. b is killed and comes back within its session."""
    scope = Scope(Mode.STATIC, members=3, partitions=4, faults=1, kinds=frozenset({Fault.KILL}))
    peace = Peace(scope)
    for slot in range(3):
        peace.happen("starts", slot)
        if slot < 2:
            peace.rest(until=lambda: peace.world.at_rest(peace.state))

    def hands_back() -> bool:
        draining = peace.members()[1].holdings.having(HoldingState.DRAINING)
        stable = all(each.state is MemberState.STABLE for each in peace.members())
        return bool(draining) and stable

    peace.rest(until=hands_back, never="batch")
    assert hands_back()
    peace.happen(Fault.KILL.words, 1)
    peace.happen("restarts", 1)
    peace.rest()
    assert peace.world.at_rest(peace.state)


def test_a_coordinator_that_forgets_a_members_end_leaves_no_partition_without_owner() -> None:
    """1. a has both partitions, one of which is to go to b; a is killed before it gives it back,
    and b leads a round without it; 2. its session ends, another round begins; a restarts and asks:
    the group has no such member; 3. the coordinator resigns amid the round, and its successor loads
    the generation before; 4. a's JoinGroup is answered at once with one partition."""
    kinds = frozenset({Fault.KILL, Fault.RESIGN})
    peace = Peace(Scope(Mode.STATIC, faults=2, kinds=kinds, patience=0))
    for slot in (0, 1):
        peace.happen("starts", slot)
        peace.happen("the coordinator is found", slot)
        if not slot:
            peace.happen("JoinGroupRequest arrives", slot)
    peace.rest(until=lambda: peace.group() == (Phase.STABLE, 2))

    def asks_for_a_round() -> bool:
        generation = peace.members()[1].identity.generation
        return generation is not None and peace.group() == (Phase.PREPARING, 2)

    peace.rest(until=asks_for_a_round)
    peace.happen(Fault.KILL.words, 0)
    peace.rest(until=lambda: peace.group() == (Phase.PREPARING, 1))
    peace.happen("restarts", 0)
    peace.happen("the coordinator is found", 0)
    peace.happen(Fault.RESIGN.words, None)
    assert peace.group() == (Phase.STABLE, 2)
    peace.rest()
    assert peace.world.at_rest(peace.state)
