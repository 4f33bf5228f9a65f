"""The reset policy acts in three cases, and on no error."""

import pytest

from kgroup.errors import LogTruncatedError, NoOffsetError, OffsetOutOfRangeError
from kgroup.offsets.reset import (
    LogEnd,
    LogPlace,
    ResetPolicy,
    ResetRule,
    Since,
    after_no_commit,
    after_out_of_range,
    after_truncation,
)
from kgroup.types import TopicPartition

TP = TopicPartition("t", 0)


HOUR = Since(3600.0)
RULES: list[tuple[ResetRule, LogPlace]] = [
    (ResetPolicy.EARLIEST, LogEnd.START),
    (ResetPolicy.LATEST, LogEnd.END),
    (HOUR, HOUR),
]


@pytest.mark.parametrize(("rule", "place"), RULES)
def test_a_policy_names_a_place_in_the_log(rule: ResetRule, place: LogPlace) -> None:
    assert after_no_commit(rule, TP) is place
    assert after_out_of_range(rule, TP, 7) is place


@pytest.mark.parametrize(("rule", "place"), RULES)
def test_after_a_truncation_reading_goes_on_where_the_logs_diverge(
    rule: ResetRule, place: LogPlace
) -> None:
    assert after_truncation(rule, TP, 20, leader_epoch=4, diverged_at=10) == 10
    assert after_truncation(rule, TP, 20, leader_epoch=4, diverged_at=None) is place


@pytest.mark.parametrize(("diverged_at", "said"), [(10, "from 10 on"), (None, "unknown offset")])
def test_without_a_policy_a_truncation_is_an_error_that_names_both_offsets(
    diverged_at: int | None, said: str
) -> None:
    with pytest.raises(LogTruncatedError, match=f"t-0 at 20.*{said}") as caught:
        after_truncation(ResetPolicy.NONE, TP, 20, leader_epoch=4, diverged_at=diverged_at)
    error = caught.value
    assert (error.tp, error.position, error.leader_epoch) == (TP, 20, 4)
    assert error.diverged_at == diverged_at


def test_without_a_policy_a_missing_commit_is_an_error_that_names_the_partition() -> None:
    with pytest.raises(NoOffsetError, match="t-0") as caught:
        after_no_commit(ResetPolicy.NONE, TP)
    assert caught.value.partitions == (TP,)


def test_without_a_policy_out_of_range_is_an_error_that_names_the_offset() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="t-0 at 7") as caught:
        after_out_of_range(ResetPolicy.NONE, TP, 7)
    assert caught.value.positions == {TP: 7}
