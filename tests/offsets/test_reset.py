"""The reset policy acts in two cases, and on no error."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import NoOffsetError, OffsetOutOfRangeError
from kgroup.offsets.reactions import FetchReaction, fetch_reaction
from kgroup.offsets.reset import LogEnd, ResetPolicy, after_no_commit, after_out_of_range
from kgroup.types import TopicPartition

TP = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("policy", "end"), [(ResetPolicy.EARLIEST, LogEnd.START), (ResetPolicy.LATEST, LogEnd.END)]
)
def test_a_policy_names_an_end_of_the_log(policy: ResetPolicy, end: LogEnd) -> None:
    assert after_no_commit(policy, TP) is end
    assert after_out_of_range(policy, TP, 7) is end


def test_without_a_policy_a_missing_commit_is_an_error_that_names_the_partition() -> None:
    with pytest.raises(NoOffsetError, match="t-0") as caught:
        after_no_commit(ResetPolicy.NONE, TP)
    assert caught.value.partitions == (TP,)


def test_without_a_policy_out_of_range_is_an_error_that_names_the_offset() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="t-0 at 7") as caught:
        after_out_of_range(ResetPolicy.NONE, TP, 7)
    assert caught.value.positions == {TP: 7}


def test_only_out_of_range_asks_the_policy() -> None:
    asking = [code for code in ErrorCode if fetch_reaction(code) is FetchReaction.OUT_OF_RANGE]
    assert asking == [ErrorCode.OFFSET_OUT_OF_RANGE]


@pytest.mark.parametrize("code", [6, 74, 5, 78, 3, 100, 103, 56, 9])
def test_a_leader_that_moved_is_looked_for(code: int) -> None:
    assert fetch_reaction(code) is FetchReaction.REFRESH


@pytest.mark.parametrize("code", [75, 7, -1])
def test_a_broker_that_is_behind_is_asked_again(code: int) -> None:
    assert fetch_reaction(code) is FetchReaction.RETRY


def test_a_code_nobody_knows_is_not_retried() -> None:
    assert fetch_reaction(32_000) is FetchReaction.REFUSE
