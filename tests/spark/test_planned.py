"""What a batch of coordination logs reads: each record once, and what is gone is told."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.spark.coordination.planned import after, planned
from kgroup.spark.coordination.store import Progress
from kgroup.spark.counting import Span
from kgroup.types import TopicPartition

A = TopicPartition("__consumer_offsets", 0)
B = TopicPartition("__marshal", 2)


@given(
    st.dictionaries(
        st.builds(TopicPartition, st.sampled_from("xy"), st.integers(0, 2)),
        st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda two: Span(*sorted(two))),
    ),
    st.integers(1, 40),
)
def test_all_that_is_there_is_read_once_in_batches_within_the_bound(
    logs: dict[TopicPartition, Span], limit: int
) -> None:
    progress, seen = Progress(), dict.fromkeys(logs, 0)
    read: list[tuple[TopicPartition, int]] = []
    for _ in range(200):
        plan = planned(progress, logs, limit=limit, now=1)
        if not plan.ranges:
            break
        here = [
            (TopicPartition(topic, int(number)), offset)
            for topic, each in plan.ranges.items()
            for number, span in each.items()
            for offset in range(*span)
        ]
        assert 0 < len(here) <= limit
        read += here
        progress = Progress(batch=plan.batch, ends=after(progress, plan))
    assert not plan.more
    assert sorted(read) == [(tp, offset) for tp in sorted(seen) for offset in range(*logs[tp])]


def test_where_a_log_begins_is_told_once() -> None:
    plan = planned(Progress(), {A: Span(7, 9), B: Span(0, 4)}, limit=100, now=5)
    assert plan.history == (
        {"src": A.topic, "log_partition": 0, "whole_from": 7, "lost_from": None, "ts": 5},
        {"src": B.topic, "log_partition": 2, "whole_from": 0, "lost_from": None, "ts": 5},
    )
    assert plan.ranges == {A.topic: {"0": [7, 9]}, B.topic: {"2": [0, 4]}}
    later = planned(
        Progress(batch=0, ends=after(Progress(), plan)), {A: Span(7, 12)}, limit=100, now=6
    )
    assert (later.batch, later.ranges, later.history) == (1, {A.topic: {"0": [9, 12]}}, ())


def test_a_log_whose_head_is_gone_goes_on_where_it_begins_and_a_row_says_so() -> None:
    progress = Progress(batch=3, ends={A.topic: {"0": 9}})
    plan = planned(progress, {A: Span(20, 25)}, limit=100, now=5)
    assert plan.ranges == {A.topic: {"0": [20, 25]}}
    assert [(row["lost_from"], row["whole_from"]) for row in plan.history] == [(9, 20)]


def test_a_log_that_ends_before_what_was_read_is_left_alone() -> None:
    progress = Progress(batch=3, ends={A.topic: {"0": 9}})
    assert planned(progress, {A: Span(0, 4)}, limit=100, now=5).ranges == {}


def test_what_does_not_fit_waits() -> None:
    plan = planned(Progress(), {A: Span(0, 50), B: Span(0, 50)}, limit=10, now=5)
    assert plan.more
    assert plan.ranges == {A.topic: {"0": [0, 5]}, B.topic: {"2": [0, 5]}}
