"""Where the next fetch begins: every event in every state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.offsets.positions import (
    CommittedRead,
    EpochChanged,
    Position,
    PositionEvent,
    PositionState,
    Received,
    ResetFound,
    ResetOwed,
    Sought,
    Validated,
)
from kgroup.offsets.reset import LogEnd
from kgroup.types import Claim, OffsetAndMetadata, TopicPartition

CLAIM = Claim(TopicPartition("t", 0), 1)
S = PositionState

NEW = Position(CLAIM)
RESETTING = NEW.after(ResetOwed(0, LogEnd.START))
AT_TEN = NEW.after(CommittedRead(0, OffsetAndMetadata(10, leader_epoch=4)))
CHECKING = AT_TEN.after(EpochChanged(0, 5))

EVENTS: list[PositionEvent] = [
    CommittedRead(0, OffsetAndMetadata(3)),
    ResetOwed(0, LogEnd.END),
    ResetFound(0, 3),
    Sought(3),
    Received(0, 10, 12),
    EpochChanged(0, 5),
    Validated(0, 5),
]


@pytest.mark.parametrize(
    ("before", "event", "state", "offset"),
    [
        (NEW, CommittedRead(0, OffsetAndMetadata(3)), S.FETCHING, 3),
        (NEW, ResetOwed(0, LogEnd.END), S.AWAITING_RESET, None),
        (NEW, Sought(3), S.FETCHING, 3),
        (RESETTING, ResetFound(1, 3), S.FETCHING, 3),
        (RESETTING, Sought(3), S.FETCHING, 3),
        (AT_TEN, Received(0, 10, 12), S.FETCHING, 12),
        (AT_TEN, ResetOwed(0, LogEnd.START), S.AWAITING_RESET, 10),
        (AT_TEN, Sought(3), S.FETCHING, 3),
        (AT_TEN, EpochChanged(0, 5), S.AWAITING_VALIDATION, 10),
        (CHECKING, Validated(0, 5), S.FETCHING, 10),
        (CHECKING, ResetOwed(0, LogEnd.END), S.AWAITING_RESET, 10),
        (CHECKING, Sought(3), S.FETCHING, 3),
    ],
)
def test_an_event_moves_the_position(
    before: Position, event: PositionEvent, state: PositionState, offset: int | None
) -> None:
    after = before.after(event)
    assert (after.state, after.offset) == (state, offset)


@pytest.mark.parametrize(
    ("before", "event"),
    [
        (NEW, ResetFound(0, 3)),
        (NEW, Received(0, 10, 12)),
        (NEW, EpochChanged(0, 5)),
        (NEW, Validated(0, 5)),
        (RESETTING, CommittedRead(1, OffsetAndMetadata(3))),
        (RESETTING, Received(1, 10, 12)),
        (RESETTING, EpochChanged(1, 5)),
        (AT_TEN, CommittedRead(0, OffsetAndMetadata(3))),
        (AT_TEN, ResetFound(0, 3)),
        (AT_TEN, Received(0, 9, 12)),
        (AT_TEN, Received(0, 10, 10)),
        (AT_TEN, Validated(0, 5)),
        (CHECKING, Received(0, 10, 12)),
        (CHECKING, CommittedRead(0, OffsetAndMetadata(3))),
    ],
)
def test_an_event_that_is_not_awaited_changes_nothing(
    before: Position, event: PositionEvent
) -> None:
    assert before.after(event) is before


@pytest.mark.parametrize("before", [NEW, RESETTING, AT_TEN, CHECKING])
@pytest.mark.parametrize("event", EVENTS)
def test_an_answer_from_before_a_seek_changes_nothing(
    before: Position, event: PositionEvent
) -> None:
    sought = before.after(Sought(100))
    assert isinstance(event, Sought) or sought.after(event) is sought


def test_a_fetch_carries_the_epoch_of_its_last_batch_on() -> None:
    assert AT_TEN.after(Received(0, 10, 12, 6)).leader_epoch == 6
    assert AT_TEN.after(Received(0, 10, 12)).leader_epoch == 4


@pytest.mark.parametrize(
    "good",
    [
        CHECKING.after(Validated(0, 5)),
        AT_TEN.after(Received(0, 10, 12, 4, checked=5)),
        RESETTING.after(ResetFound(1, 3, 4, checked=5)),
        AT_TEN.after(Sought(3, 4, checked=5)),
    ],
)
def test_a_position_is_good_under_one_leader_epoch_only(good: Position) -> None:
    assert good.state is S.FETCHING
    assert good.after(EpochChanged(good.seek, 5)) is good
    assert good.after(EpochChanged(good.seek, 6)).state is S.AWAITING_VALIDATION


def test_a_committed_position_is_validated_under_any_leader() -> None:
    assert AT_TEN.after(EpochChanged(0, 4)).state is S.AWAITING_VALIDATION


def test_a_position_without_an_epoch_cannot_be_validated() -> None:
    sought = AT_TEN.after(Sought(3))
    assert sought.after(EpochChanged(sought.seek, 6)) is sought


@given(st.lists(st.sampled_from(EVENTS), max_size=12))
def test_a_position_that_is_fetching_has_an_offset(events: list[PositionEvent]) -> None:
    position = NEW
    for event in events:
        after = position.after(event)
        assert after.seek >= position.seek
        position = after
        known = position.state in (S.FETCHING, S.AWAITING_VALIDATION)
        assert not known or position.offset is not None
        assert (position.state is S.AWAITING_RESET) == (position.end is not None)
