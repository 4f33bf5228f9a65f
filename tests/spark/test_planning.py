"""How a limit is shared out by backlog, and spans are dealt out to tasks."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.spark.offsets import Span
from kgroup.spark.planning import ROWS_PER_TASK, Range, shared, tasks
from kgroup.types import TopicPartition

TPS = [TopicPartition("t", number) for number in range(12)]
SPANS = st.dictionaries(
    st.sampled_from(TPS),
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda each: (each[0], sum(each))),
)


def rows(spans: dict[TopicPartition, Span]) -> int:
    return sum(end - begin for begin, end in spans.values())


def test_without_a_limit_everything_is_read() -> None:
    spans = {TPS[0]: (5, 50), TPS[1]: (0, 0)}
    assert shared(spans, None) == spans


def test_a_limit_is_shared_in_proportion_to_the_backlog() -> None:
    spans = {TPS[0]: (0, 900), TPS[1]: (0, 90), TPS[2]: (7, 17)}
    assert shared(spans, 100) == {TPS[0]: (0, 90), TPS[1]: (0, 9), TPS[2]: (7, 8)}


def test_a_small_backlog_gets_at_least_one_beside_a_large_one() -> None:
    assert shared({TPS[0]: (0, 10**9), TPS[1]: (3, 4)}, 10)[TPS[1]] == (3, 4)


@given(SPANS, st.integers(1, 10**6))
def test_a_share_is_the_front_of_its_span_and_the_limit_is_used_up(
    spans: dict[TopicPartition, Span], limit: int
) -> None:
    found = shared(spans, limit)
    assert found.keys() == spans.keys()
    assert all(found[tp][0] == spans[tp][0] and found[tp][1] <= spans[tp][1] for tp in spans)
    assert rows(found) == min(rows(spans), limit)


def test_small_spans_share_one_task() -> None:
    spans = dict.fromkeys(TPS, (0, 1000))
    assert tasks(spans, None) == [tuple(Range(tp, 0, 1000) for tp in TPS)]


def test_large_spans_have_a_task_each() -> None:
    spans = dict.fromkeys(TPS[:3], (0, 10 * ROWS_PER_TASK))
    assert sorted(tasks(spans, None)) == [(Range(tp, 0, 10 * ROWS_PER_TASK),) for tp in TPS[:3]]


def test_a_span_without_rows_has_no_task() -> None:
    assert tasks({TPS[0]: (4, 4)}, None) == []
    assert tasks({TPS[0]: (4, 4), TPS[1]: (0, 1)}, 5) == [(Range(TPS[1], 0, 1),)]


def test_more_tasks_than_partitions_split_the_large_ones() -> None:
    found = tasks({TPS[0]: (0, 900), TPS[1]: (50, 150)}, 10)
    assert len(found) == 10
    assert all(len(each) == 1 for each in found)
    assert max(one.rows for (one,) in found) == 100


def test_every_part_of_a_partition_has_the_fence_of_its_owner() -> None:
    found = tasks({TPS[0]: (0, 900), TPS[1]: (50, 150)}, 10, {TPS[0]: 17})
    fences = {(each.tp, each.fence) for task in found for each in task}
    assert fences == {(TPS[0], 17), (TPS[1], None)}


@given(SPANS, st.none() | st.integers(1, 40))
def test_every_offset_is_read_by_exactly_one_task(
    spans: dict[TopicPartition, Span], at_least: int | None
) -> None:
    dealt = sorted(each for task in tasks(spans, at_least) for each in task)
    joined: dict[TopicPartition, Span] = {}
    for tp, begin, end, _ in dealt:
        assert begin < end
        first, last = joined.get(tp, (begin, begin))
        assert last == begin
        joined[tp] = (first, end)
    assert joined == {tp: span for tp, span in spans.items() if span[0] < span[1]}
