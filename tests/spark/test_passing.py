"""A group passes by its claims: each plain in itself, and one after the other."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from kgroup.spark.audit.passing import Claimed, Period, passes


def claim(
    at: float, start: int, *gaps: float, change: Callable[[Period, float], object] | None = None
) -> Claimed | None:
    """Return what becomes of a claim of partition t-0 that delivers a record after each gap.

    Args:
        at: when it begins.
        start: its first offset.
        gaps: seconds.
        change: something more that happens before it is given up.
    """
    period = Period("t", 0)
    period.change(at, "A")
    period.change(at, "a")
    period.read(at, start)
    for number, gap in enumerate(gaps, start):
        at += gap
        period.deliver(at, number, number, 1)
    period.commit(at, start + len(gaps))
    if change is not None:
        change(period, at)
    period.change(at, "R")
    period.change(at, "r")
    return period.claimed()


def plain(at: float, start: int, *gaps: float) -> Claimed:
    found = claim(at, start, *gaps)
    assert found is not None
    return found


def test_claims_that_follow_each_other_pass_with_their_numbers() -> None:
    (row,) = passes([(0.0, [plain(5, 2, 1, 1), plain(1, 0, 1, 1.5)])]) or ()
    assert (row.start, row.end, row.committed, row.records, row.periods) == (0, 4, 4, 4, 2)
    assert row.silence == 2.5


@pytest.mark.parametrize(
    "claims",
    [
        [plain(1, 0, 1), plain(5, 2, 1)],
        [plain(1, 0, 1, 1), plain(5, 1, 1)],
        [plain(1, 0, 1), plain(2, 1, 1)],
        [plain(1, 0, 4), plain(2, 1, 1)],
        [plain(1, 0)],
        [],
        None,
    ],
    ids=["a gap", "a repeat", "at once", "overlapping", "no record", "no claim", "not plain"],
)
def test_other_groups_do_not_pass(claims: list[Claimed] | None) -> None:
    assert passes([(0.0, claims)]) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda period, at: period.change(at, "L"),
        lambda period, at: period.change(at, "a"),
        lambda period, at: period.read(at, 3),
        lambda period, at: period.read(at, None),
        lambda period, at: period.move(at, 3, reset=True),
        lambda period, at: period.move(at, 3, reset=False),
        lambda period, at: period.deliver(at, 4, 4, 1),
        lambda period, at: period.deliver(at, 2, 2, 1),
        lambda period, at: period.deliver(at, 3, 5, 2),
        lambda period, at: period.deliver(at, 3, 2, 0),
    ],
)
def test_a_claim_with_a_step_that_is_not_plain_is_none(
    change: Callable[[Period, float], object],
) -> None:
    assert claim(1, 0, 1, 1, 1) is not None
    assert claim(1, 0, 1, 1, 1, change=change) is None


def test_a_delivery_before_an_offset_was_read_is_not_plain() -> None:
    period = Period("t", 0)
    for step in "Aa":
        period.change(1, step)
    period.deliver(2, 0, 0, 1)
    for step in "Rr":
        period.change(3, step)
    assert period.claimed() is None


def test_a_position_is_reset_where_no_offset_was_committed() -> None:
    period = Period("t", 0)
    for step in "Aa":
        period.change(1, step)
    period.read(1, None)
    period.move(1, 7, reset=True)
    period.deliver(2, 7, 8, 2)
    for step in "Ll":
        period.change(3, step)
    found = period.claimed()
    assert found is not None
    assert (found.start, found.held, found.records) == (7, 9, 2)


def test_silences_are_those_of_the_clock_that_a_log_is_tied_to() -> None:
    shift, gaps = 1e8 + 0.3, [0.1, 0.30000001, 0.30000002, 0.3]
    times = [1.0]
    for gap in gaps:
        times.append(times[-1] + gap)
    (row,) = passes([(shift, [plain(0.5, 0, 0.5, *gaps)])]) or ()
    heard = [time + shift for time in times]
    assert row.silence == max(b - a for a, b in pairwise(heard))


def test_silences_too_many_to_be_told_apart_pass_only_on_the_first_clock() -> None:
    even = plain(1, 0, *[0.25] * 100)
    (row,) = passes([(0.0, [even])]) or ()
    assert row.silence == 0.25
    assert passes([(3.0, [even])]) is None


def test_a_clock_that_is_too_far_off_does_not_pass() -> None:
    assert passes([(1e9, [plain(1, 0, 1, 1)])])
    assert passes([(1e10, [plain(1, 0, 1, 1)])]) is None
    assert passes([(3.0, [plain(1e10, 0, 1, 1)])]) is None
