"""The coverage theorem over the tables of a Marshal member."""

from enum import Enum

import pytest

from kgroup.marshal.admission import (
    ADMISSION_ROWS,
    AdmissionAction,
    AdmissionGuard,
    AdmissionStage,
    AdmissionTrigger,
)
from kgroup.marshal.key_actions import FAMILIES
from kgroup.marshal.key_rows import KEY_ROWS, POSSIBLE, KeyAction, KeyGuard, KeyPhase, KeyTrigger
from kgroup.marshal.key_state import KEY_TIMERS
from tests.machine.coverage import Expectation, findings

KEY = Expectation(
    possible=POSSIBLE,
    start=KeyPhase.IDLE,
    families=FAMILIES,
    actions=frozenset(KeyAction),
    rearms={
        KeyTrigger.CLAIM_DUE: frozenset(),
        KeyTrigger.LOCATE_DUE: frozenset({KeyAction.FIND_POSITION}),
        KeyTrigger.BEAT_DUE: frozenset({KeyAction.SEND_BEAT, KeyAction.SEND_RELEASE}),
        KeyTrigger.WRITE_LIMIT: frozenset({KeyAction.SEND_BEAT, KeyAction.SEND_RELEASE}),
        KeyTrigger.EXPIRED: frozenset(),
    },
)

_ALIVE = (
    AdmissionStage.WAITING,
    AdmissionStage.PROBING,
    AdmissionStage.COMMITTING,
    AdmissionStage.PUBLISHING,
)
_A = AdmissionTrigger

BATCH: Expectation[AdmissionStage, AdmissionTrigger, AdmissionGuard, AdmissionAction] = Expectation(
    possible={
        AdmissionStage.WAITING: frozenset({_A.TURN, _A.ENDED}),
        AdmissionStage.PROBING: frozenset({_A.PROBED, _A.FAILED, _A.ENDED}),
        AdmissionStage.COMMITTING: frozenset({_A.COMMITTED, _A.FAILED, _A.ENDED}),
        AdmissionStage.PUBLISHING: frozenset({_A.PUBLISHED, _A.ENDED}),
        AdmissionStage.OVER: frozenset(),
    },
    start=AdmissionStage.WAITING,
    families=(),
    actions=frozenset(AdmissionAction),
    rearms={},
)


def test_whatever_can_happen_to_a_key_has_exactly_its_rows_and_none_is_dead() -> None:
    assert findings(KEY_ROWS, KEY) == ()


def test_whatever_can_happen_to_a_batch_has_exactly_its_rows_and_none_is_dead() -> None:
    assert findings(ADMISSION_ROWS, BATCH) == ()


def test_every_timer_of_a_key_is_held_against_spinning() -> None:
    assert KEY.rearms.keys() == KEY_TIMERS


def test_every_guard_belongs_to_one_family() -> None:
    assert sorted(guard.name for family in FAMILIES for guard in family) == sorted(
        guard.name for guard in KeyGuard
    )


@pytest.mark.parametrize("words", [KeyPhase, KeyTrigger, KeyGuard, KeyAction, AdmissionTrigger])
def test_no_two_words_of_a_table_read_alike(words: type[Enum]) -> None:
    assert len({word.value for word in words}) == len(words.__members__)
