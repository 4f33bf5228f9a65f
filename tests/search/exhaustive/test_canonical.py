"""The canonical form changes no behaviour: a walk with it and one without it stay together."""

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.search.exhaustive.canon import canonical, key_of
from tests.search.exhaustive.local import KILLED, Result, moved
from tests.search.exhaustive.process import Process
from tests.search.exhaustive.scope import Fault, Mode, Scope
from tests.search.exhaustive.world import Move, State, World

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
