"""Where a streaming query goes on: one test for each row of the table in `positions`."""

import pytest

from kgroup.spark.positions import DataLossError, Known, begin, is_own, mark, settle
from kgroup.types import OffsetAndMetadata, TopicPartition

TP = TopicPartition("t", 0)
QUERY = "5f1c"


def own(offset: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, mark(QUERY, 7))


def others(offset: int, metadata: str = "") -> OffsetAndMetadata:
    return OffsetAndMetadata(offset, metadata)


@pytest.mark.parametrize("committed", [None, own(10), own(90), others(10), others(90)])
@pytest.mark.parametrize("checkpoint", [None, 20, 80])
def test_a_claim_that_was_kept_goes_on_at_the_query_s_own_position(
    committed: OffsetAndMetadata | None, checkpoint: int | None
) -> None:
    assert begin(Known(50, checkpoint, committed, fallback=0), QUERY) == 50


def test_a_checkpoint_counts_where_nothing_is_committed() -> None:
    assert begin(Known(checkpoint=50, fallback=0), QUERY) == 50


@pytest.mark.parametrize("committed", [own(40), own(50), own(60)])
def test_a_checkpoint_counts_beside_commits_of_the_same_query(committed: OffsetAndMetadata) -> None:
    assert begin(Known(checkpoint=50, committed=committed), QUERY) == 50


@pytest.mark.parametrize(
    "metadata", ["", "by hand", mark("another", 1), "kgroup/1", "kgroup/2;q=5f1c;b=7"]
)
def test_what_others_handled_behind_the_checkpoint_is_not_read_again(metadata: str) -> None:
    assert begin(Known(checkpoint=50, committed=others(60, metadata)), QUERY) == 60


def test_what_others_committed_in_front_of_the_checkpoint_is_in_the_sink_already() -> None:
    assert begin(Known(checkpoint=50, committed=others(40)), QUERY) == 50


def test_positions_that_were_set_back_behind_the_query_s_own_commit_count() -> None:
    assert begin(Known(checkpoint=50, committed=others(10), taken=40), QUERY) == 10


@pytest.mark.parametrize("committed", [others(40), others(45), own(30)])
def test_a_commit_at_or_behind_the_query_s_own_was_not_set_back(
    committed: OffsetAndMetadata,
) -> None:
    assert begin(Known(checkpoint=50, committed=committed, taken=40), QUERY) == 50


@pytest.mark.parametrize("committed", [own(40), others(40)])
def test_without_a_checkpoint_what_is_committed_counts(committed: OffsetAndMetadata) -> None:
    assert begin(Known(committed=committed, fallback=0), QUERY) == 40


def test_without_anything_the_fallback_counts() -> None:
    assert begin(Known(fallback=5), QUERY) == 5


def test_without_anything_and_no_fallback_yet_nothing_is_known() -> None:
    assert begin(Known(), QUERY) is None


@pytest.mark.parametrize("ending", ["", "\0"])
def test_a_query_knows_its_own_commits_also_with_a_zero_byte_behind(ending: str) -> None:
    assert is_own(OffsetAndMetadata(1, mark(QUERY, 3) + ending), QUERY)
    assert not is_own(OffsetAndMetadata(1, mark("5f1", 3) + ending), QUERY)


@pytest.mark.parametrize("position", [10, 15, 20])
@pytest.mark.parametrize("fails", [True, False])
def test_a_position_that_the_log_holds_stays(position: int, fails: bool) -> None:
    assert settle(TP, position, (10, 20), fails=fails) == position


@pytest.mark.parametrize(("position", "moved"), [(9, 10), (21, 20)])
def test_a_position_outside_of_the_log_moves_to_its_end_or_is_an_error(
    position: int, moved: int
) -> None:
    assert settle(TP, position, (10, 20), fails=False) == moved
    with pytest.raises(DataLossError, match=rf"t-0: .* offset {position}, .* 10 to 20"):
        settle(TP, position, (10, 20), fails=True)
