from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.journal.periods import Intervals, total

RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 8)).map(lambda pair: (pair[0], sum(pair)))
)


def test_offsets_read_in_order_are_one_interval():
    offsets = Intervals()
    for first in range(0, 10_000, 10):
        offsets.add(first, first + 10)
    assert list(offsets) == [(0, 10_000)]


def test_adding_returns_what_was_in_already():
    offsets = Intervals()
    offsets.add(0, 10)
    offsets.add(20, 30)
    assert offsets.add(5, 25) == ((5, 10), (20, 25))
    assert list(offsets) == [(0, 30)]


@settings(deadline=None)
@given(RANGES, st.integers(0, 40), st.integers(0, 40))
def test_intervals_agree_with_a_set_of_offsets(ranges, first, end):
    offsets = Intervals()
    model: set[int] = set()
    for low, high in ranges:
        asked = set(range(low, high))
        assert total(offsets.add(low, high)) == len(asked & model)
        model |= asked
    found = list(offsets)
    assert {offset for low, high in found for offset in range(low, high)} == model
    assert all(a[1] < b[0] for a, b in pairwise(found))
    asked = set(range(first, end))
    assert total(offsets.overlap(first, end)) == len(asked & model)
    assert total(offsets.missing(first, end)) == len(asked - model)
