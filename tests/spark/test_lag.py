"""How far a group was behind, beside a reckoning by brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.spark.coordination.lag import End, behind, rising
from tests.spark.coordinator import T0, Log, chosen, groups_of, silver_of

MINUTE = 60_000


def end(ts: int, high: int, *, topic: str = "t", partition: int = 0) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "ts": ts, "low": 0, "high": high}


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8),
    st.integers(0, 60),
)
def test_the_time_of_a_position_lies_between_two_ends(
    samples: list[tuple[int, int]], position: int
) -> None:
    ends = rising(End(ts * 1000, high) for ts, high in dict(samples).items())
    now = ends[-1]
    seconds, error = behind(position, ends)
    if position >= now.high:
        assert (seconds, error) == (0, 0)
        return
    lower = [each for each in ends if each.high <= position]
    if not lower:
        assert (seconds, error) == (None, None)
        return
    upper = next(each for each in ends if each.high > position)
    assert seconds is not None
    assert error == (upper.ts - lower[-1].ts) / 1000
    assert now.ts / 1000 - upper.ts / 1000 <= seconds + 1e-9
    assert seconds <= now.ts / 1000 - lower[-1].ts / 1000 + 1e-9


def test_seconds_are_interpolated() -> None:
    assert behind(25, [End(0, 0), End(10_000, 20), End(20_000, 40)]) == (7.5, 10.0)


def test_an_end_that_a_new_leader_says_too_low_does_not_count() -> None:
    assert rising([End(2, 9), End(1, 4), End(3, 7)]) == [End(1, 4), End(2, 9), End(3, 9)]


def test_lag_is_told_once_a_minute_by_what_was_committed_then() -> None:
    log = Log()
    log.commit(10)
    log.now = T0 + 2 * MINUTE
    log.commit(30)
    minute = (T0 // MINUTE + 1) * MINUTE
    ends = [end(minute, 40), end(minute + 30_000, 50), end(minute + 2 * MINUTE, 55)]
    gold = groups_of(silver_of(log.records), ends)
    names = ("group", "topic", "partition", "ts", "position", "end", "lag")
    assert chosen(gold["lag"], *names) == [
        ("g", "t", 0, minute + 30_000, 10, 50, 40),
        ("g", "t", 0, minute + 2 * MINUTE, 30, 55, 25),
    ]


def test_a_position_that_was_removed_has_no_lag() -> None:
    log = Log()
    log.commit(10)
    log.commit(None)
    gold = groups_of(silver_of(log.records), [end(log.now + MINUTE, 40)])
    assert gold["lag"] == []
    assert chosen(gold["status"], "status", "commits") == [("removed", 0)]


@given(st.lists(st.none() | st.integers(0, 20), min_size=1, max_size=12))
def test_a_rewind_is_a_commit_below_the_one_before(offsets: list[int | None]) -> None:
    log = Log()
    for offset in offsets:
        log.commit(offset)
    found = groups_of(silver_of(log.records))["rewind"]
    expected = []
    for number, offset in enumerate(offsets):
        before = offsets[number - 1] if number else None
        if offset is not None and before is not None and offset < before:
            since = max((n for n in range(number) if offsets[n] is None), default=-1)
            highest = max(each for each in offsets[since + 1 : number] if each is not None)
            expected.append((number, before, offset, highest))
    names = ("log_offset", "from_position", "to_position", "highest")
    assert chosen(found, *names) == expected


# -- status ----------------------------------------------------------------------------------------


def word(commits: list[int], highs: list[int], *, idle: int = 0) -> str:
    """Return the status of a group that commits once a second, of a log that was asked as often."""
    log = Log()
    ends = []
    for offset, high in zip(commits, highs, strict=True):
        ends.append(end(log.now + 500, high))
        log.commit(offset)
    ends.append(end(log.now + idle, highs[-1]))
    (row,) = groups_of(silver_of(log.records), ends)["status"]
    return str(row["status"])


@pytest.mark.parametrize(
    ("commits", "highs", "idle", "status"),
    [
        ([1, 2, 3], [1, 2, 3], 0, "ok"),
        ([1, 2, 3], [1, 5, 9], 0, "ok"),  # it was at the end once
        ([1, 2, 3], [9, 9, 9], 0, "ok"),  # it catches up
        ([1, 2, 3], [5, 6, 7], 0, "warning"),
        ([1, 2, 3], [5, 7, 9], 0, "warning"),
        ([3, 3, 3], [5, 5, 5], 0, "stalled"),
        ([3, 3, 3], [5, 6, 7], 0, "stalled"),
        ([3, 2, 4], [9, 9, 9], 0, "rewind"),
        ([1, 2, 3], [9, 9, 9], 3000, "stopped"),
        ([1, 2, 3], [3, 3, 3], 90_000, "ok"),  # there is nothing more to read
        ([3], [9], 0, "unknown"),
    ],
)
def test_the_status_is_that_of_burrow(
    commits: list[int], highs: list[int], idle: int, status: str
) -> None:
    assert word(commits, highs, idle=idle) == status


def test_only_the_last_ten_commits_count() -> None:
    commits = [9, *range(1, 11)]
    assert word(commits, [each + 20 for each in range(11)]) == "warning"


def test_without_the_end_of_a_log_nothing_is_known() -> None:
    log = Log()
    log.commit(4)
    (row,) = groups_of(silver_of(log.records))["status"]
    assert (row["status"], row["lag"]) == ("unknown", None)
