"""The coverage theorem over the tables of a classic member."""

from enum import Enum

from kgroup.machine.coordinator import (
    COORDINATOR_ROWS,
    POSSIBLE,
    CoordinatorAction,
    CoordinatorGuard,
    CoordinatorState,
    CoordinatorTrigger,
)
from kgroup.machine.rows import Row, Table, fan
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.states import FACTS, possible
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.types import MemberState
from tests.machine.coverage import Expectation, findings

FAMILIES = (
    frozenset({Guard.HANDS_BACK, Guard.HANDS_NOTHING}),
    frozenset({Guard.HANDS_BACK, Guard.HANDING_OVER, Guard.REJOINS}),
    frozenset({Guard.DYNAMIC, Guard.STATIC}),
    frozenset({Guard.CLOSING, Guard.WANTS_JOIN, Guard.WANTS_NOTHING}),
    frozenset({Guard.CLOSING, Guard.NOT_CLOSING}),
    frozenset({Guard.IN_PACE, Guard.OUT_OF_PACE}),
    frozenset({Guard.STILL_REVOKING, Guard.JOINS_NOW, Guard.JOINS_LATER, Guard.RESUMES}),
    frozenset({Guard.LAPSES, Guard.ENDS}),
)

MEMBER = Expectation(
    possible={state: possible(state) for state in FACTS},
    start=MemberState.UNSUBSCRIBED,
    families=FAMILIES,
    actions=frozenset(Action),
    rearms={
        Trigger.HEARTBEAT_DUE: frozenset({Action.SEND_HEARTBEAT}),
        Trigger.LEASE_EXPIRED: frozenset({Action.LOSE_ALL}),
        Trigger.DRAIN_LIMIT: frozenset({Action.CUT_DRAINS}),
        Trigger.POLL_EXPIRED: frozenset(),
        Trigger.BACKOFF_OVER: frozenset(),
        Trigger.RELEASE_LIMIT: frozenset({Action.STOP_WAITING}),
        Trigger.HAND_OVER_LIMIT: frozenset({Action.GO_ON_HANDING_OVER}),
        Trigger.CLOSE_LIMIT: frozenset(),
        Trigger.REJOIN_DUE: frozenset(),
    },
)


def test_every_event_possible_in_a_state_has_exactly_its_rows_and_none_is_dead() -> None:
    assert findings(ROWS, MEMBER) == ()


def test_every_state_but_that_of_another_protocol_has_facts() -> None:
    assert set(FACTS) == set(MemberState) - {MemberState.RECONCILING}


def test_the_coordinator_table_is_covered() -> None:
    expectation: Expectation[
        CoordinatorState, CoordinatorTrigger, CoordinatorGuard, CoordinatorAction
    ]
    expectation = Expectation(
        possible=POSSIBLE,
        start=CoordinatorState.UNKNOWN,
        families=(),
        actions=frozenset(CoordinatorAction),
        rearms={CoordinatorTrigger.SEARCH_DUE: frozenset()},
    )
    assert findings(COORDINATOR_ROWS, expectation) == ()


class _S(Enum):
    A = 1
    B = 2
    C = 3


class _T(Enum):
    GO = 1
    DUE = 2


class _G(Enum):
    YES = 1
    NO = 2


class _A(Enum):
    ACT = 1
    REARM = 2


def broken(*rules: object) -> tuple[str, ...]:
    expectation = Expectation(
        possible={_S.A: frozenset({_T.GO, _T.DUE}), _S.B: frozenset({_T.GO}), _S.C: frozenset()},
        start=_S.A,
        families=(frozenset({_G.YES, _G.NO}),),
        actions=frozenset(_A),
        rearms={_T.DUE: frozenset({_A.REARM})},
    )
    return findings(Table(rules), expectation)  # type: ignore[arg-type]


GOOD: tuple[tuple[Row[_S, _T, _G, _A], ...], ...] = (
    fan(_S.A, _T.GO, to=_S.B, when=_G.YES, do=(_A.ACT,)),
    fan(_S.A, _T.GO, to=_S.C, when=_G.NO),
    fan(_S.A, _T.DUE, do=(_A.REARM,)),
    fan(_S.B, _T.GO),
)


def test_a_sound_table_has_no_findings() -> None:
    assert broken(*GOOD) == ()


def test_a_forgotten_event_is_found() -> None:
    assert any("forgotten: B+GO" in each for each in broken(*GOOD[:3]))


def test_a_dead_row_is_found() -> None:
    assert any("dead: C+GO" in each for each in broken(*GOOD, fan(_S.C, _T.GO)))


def test_a_guard_without_its_opposite_is_found() -> None:
    assert any("guards" in each for each in broken(GOOD[0], *GOOD[2:], fan(_S.B, _T.DUE)))


def test_a_timer_that_could_spin_is_found() -> None:
    assert any("spinning: A+DUE" in each for each in broken(*GOOD[:2], fan(_S.A, _T.DUE), GOOD[3]))


def test_an_unreachable_state_and_an_unused_action_are_found() -> None:
    found = broken(fan(_S.A, _T.GO, to=_S.B), fan(_S.A, _T.DUE, do=(_A.REARM,)), GOOD[3])
    assert any("unreachable: C" in each for each in found)
    assert any("unused: no row does ACT" in each for each in found)
