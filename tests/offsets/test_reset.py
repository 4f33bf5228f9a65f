"""The reset policy acts in two cases, and on no error."""

import pytest

from kgroup.errors import NoOffsetError, OffsetOutOfRangeError
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
