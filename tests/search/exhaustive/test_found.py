"""What the search found stays mended; equal states are one state; the command says all."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kgroup.machine.claims import HoldingState
from kgroup.membership.events import Event, Moment
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember
from kgroup.testing.broker.groups.group import Phase
from kgroup.types import MemberState
from tests.search.exhaustive.__main__ import main
from tests.search.exhaustive.canon import canonical, key_of
from tests.search.exhaustive.local import KILLED, Result, moved
from tests.search.exhaustive.process import Process
from tests.search.exhaustive.scope import Fault, Mode, Scope
from tests.search.exhaustive.world import Move, State, World

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
        room = self.world.coming.coordinators.values[self.state[self.world.scope.members]].room
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


# -- test canonical --------------------------------------------------------------------------------


_STEPS = 150


class Walk:
    """A walk through a world beside which each process is also kept as it is."""

    def __init__(self, scope: Scope, seed: int) -> None:
        self.world = World(scope, reduced=False)
        self.dice = random.Random(seed)
        self.state = self.world.start
        self.plain: dict[int, Process] = {}
        self._calls: list[tuple[int, str, tuple[Any, ...]]] = []
        self._do = self.world.local.do
        self.world.local.do = self._noted  # type: ignore[method-assign]

    def _noted(self, number: int, slot: int, what: str, *how: Any) -> Result:
        self._calls.append((slot, what, how))
        return self._do(number, slot, what, *how)

    def step(self) -> None:
        choices: list[tuple[Move, list[tuple[int, str, tuple[Any, ...]]]]] = []
        self._calls = []
        for move in self.world.moves(self.state):
            choices.append((move, self._calls))
            self._calls = []
        move, calls = self.dice.choice(choices)
        for slot, what, how in calls:
            self.plain[slot] = moved(self.plain[slot], slot, what, *how)
        self._meet_newborn(move.state)
        self.state = move.state

    def _meet_newborn(self, state: State) -> None:
        for slot in range(self.world.scope.members):
            if state[slot] <= KILLED:
                self.plain.pop(slot, None)
            elif slot not in self.plain:
                self.plain[slot] = self.world.local.process(state[slot])

    def check(self) -> None:
        for slot, process in self.plain.items():
            known = self.world.local.process(self.state[slot])
            assert key_of(canonical(process)) == key_of(known)


@pytest.mark.slow
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", range(4))
def test_a_walk_in_canonical_form_is_the_same_walk(mode: Mode, seed: int) -> None:
    walk = Walk(Scope(mode, faults=6, closes=1, late_requests=True), seed)
    for _ in range(_STEPS):
        walk.step()
        walk.check()


@pytest.mark.slow
def test_a_leader_that_looks_what_was_assigned_is_another_state_than_a_follower_that_does() -> None:
    """KIP-814: each takes the answer in its own way, and nothing else in the state says which.

    1. A static leader is killed; 2. its next process is answered with the generation that stands;
    3. it asks what was assigned.
    """
    leader = _looking_leader()
    member = leader.member
    follower = replace(leader, member=replace(member, round=replace(member.round, leader=False)))
    assert key_of(canonical(leader)) != key_of(canonical(follower))


def _looking_leader() -> Process:
    walk = Walk(Scope(Mode.STATIC, faults=6, kinds=frozenset({Fault.KILL})), seed=130)
    for _ in range(_STEPS):
        walk.step()
        for process in walk.plain.values():
            if process.member.round.leader and process.member.round.watch is not None:
                return process
    raise AssertionError("no leader came back while its generation stood")


# -- test command ----------------------------------------------------------------------------------


ALONE = ["--mode", "eager", "--members", "1", "--faults", "0"]


def stops(member: GroupMember, event: Event, moment: Moment) -> Step:
    """A person presses Ctrl-C while the machine steps."""
    raise KeyboardInterrupt


def sends_nothing(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Whatever the machine wants done is not done."""
    result = step(member, event, moment)
    return Step(result.member, (), result.rows)


def test_a_complete_search_says_so_and_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ALONE) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("eager 1x2x0: complete: ")
    assert "rows" in printed.out
    assert "states" in printed.err


def test_figures_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALONE, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["complete"] is True
    assert figures["broken"] is None
    assert figures["states"] == figures["expanded"]
    assert figures["transitions"] >= figures["states"] - 1


def test_a_broken_promise_is_printed_in_numbered_steps_and_ends_with_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(ALONE, sends_nothing) == 1
    printed = capsys.readouterr().out
    assert "eager 1x2x0: L2: a FINDING member waits for nothing" in printed
    assert "  1. t=0 a: starts" in printed


def test_a_bound_that_is_not_one_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--members", "9"]) == 2
    assert "members is 9; it must be 1 to 3" in capsys.readouterr().err


def test_an_unknown_kind_of_fault_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kinds", "rain"]) == 2
    assert "rain" in capsys.readouterr().err


def test_an_interrupted_search_prints_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ALONE, stops) == 130
    assert "stopped: 1 states" in capsys.readouterr().err


def test_the_figures_of_a_search_that_was_stopped_are_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*ALONE, "--json"], stops) == 130
    figures = json.loads(capsys.readouterr().out)
    assert figures["complete"] is False
    assert figures["states"] == 1
    assert figures["ticks_to_rest"] is None
