"""What is done in any order: the prefix, what lies beyond it, and the text that says so."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.processing.gaps import MOST_BYTES, Gaps, is_in, read_runs, write_runs

OFFSETS = st.lists(st.integers(0, 200), unique=True, min_size=1, max_size=40).map(sorted)


def handed(offsets: list[int], end: int | None = None) -> Gaps:
    gaps = Gaps(offsets[0])
    gaps.admit(((offset, 7) for offset in offsets), offsets[-1] + 1 if end is None else end)
    return gaps


def test_only_the_contiguous_prefix_counts() -> None:
    gaps = handed([0, 1, 2, 3])
    assert not gaps.done(1)
    assert not gaps.done(3)
    assert (gaps.prefix, gaps.runs()) == (0, (range(1, 2), range(3, 4)))
    assert gaps.done(0)
    assert (gaps.prefix, gaps.runs(), gaps.epoch) == (2, (range(3, 4),), 7)


def test_offsets_without_records_are_no_gaps() -> None:
    gaps = handed([0, 5, 9], end=20)
    gaps.done(5)
    gaps.done(9)
    assert gaps.runs() == (range(5, 10),)
    gaps.done(0)
    assert (gaps.prefix, gaps.runs(), len(gaps)) == (20, (), 0)


def test_a_batch_without_records_moves_the_prefix() -> None:
    gaps = Gaps(4)
    gaps.admit((), 9)
    assert gaps.prefix == 9


def test_what_is_unknown_or_done_already_changes_nothing() -> None:
    gaps = handed([0, 1])
    gaps.done(0)
    assert not gaps.done(0)
    assert not gaps.done(17)
    assert gaps.prefix == 1


@given(OFFSETS, st.randoms(use_true_random=False), st.data())
def test_below_the_prefix_all_is_done_and_runs_name_the_rest(offsets, chance, data) -> None:
    gaps = handed(offsets)
    done = set(data.draw(st.lists(st.sampled_from(offsets), unique=True)))
    order = sorted(done)
    chance.shuffle(order)
    for offset in order:
        gaps.done(offset)
    left = [offset for offset in offsets if offset not in done]
    assert gaps.prefix == (left[0] if left else offsets[-1] + 1)
    beyond = {offset for offset in done if offset > gaps.prefix}
    assert {offset for offset in offsets if is_in(gaps.runs(), offset)} == beyond
    assert len(gaps) == len(left)
    assert read_runs(gaps.prefix, write_runs(gaps.prefix, gaps.runs())) == gaps.runs()


def test_the_text_fits_a_commit_and_names_what_is_nearest() -> None:
    runs = tuple(range(at, at + 1) for at in range(1, 10_000, 2))
    text = write_runs(0, runs)
    assert MOST_BYTES - 8 < len(text) <= MOST_BYTES
    found = read_runs(0, text)
    assert 500 < len(found) < len(runs)
    assert found == runs[: len(found)]


def test_the_text_of_somebody_else_says_nothing() -> None:
    for text in ("", "hello", "kg1:", "kg1:x", "kg1:1+2,", "kg1:1+2;3+4", "kg1:-1+2"):
        assert read_runs(5, text) == ()


def test_nothing_done_beyond_is_no_text() -> None:
    assert write_runs(5, ()) == ""
