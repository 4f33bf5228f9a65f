"""A table is judged by the numbers of its buckets as it would be row by row."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.spark.counting import (
    BUCKET,
    Astray,
    Bitmap,
    Missing,
    Sight,
    Span,
    StrayCount,
    gaps,
    holes,
    joined,
    suspects,
    weighed,
)
from kgroup.spark.verdict import Evidence, FindingKind, TableVerdict, Truth, judge
from kgroup.types import TopicPartition
from tests.spark.worlds import World, bitmap, ranges

NEAR = st.one_of(
    st.integers(0, 40),
    st.integers(BUCKET - 20, BUCKET + 20),
    st.integers(2 * BUCKET - 20, 2 * BUCKET + 20),
)
"""Offsets at the borders of buckets, where mistakes are made."""


def spans(low: int = 0) -> st.SearchStrategy[Span]:
    return st.tuples(NEAR, NEAR).map(lambda pair: Span(low + min(pair), low + max(pair)))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a log, of which a few ranges are not in the table, and a few rows are there again."""
    low = draw(st.sampled_from([0, 1, 5 * BUCKET, 5 * BUCKET + 7]))
    bounds = draw(spans(low))
    rows = set(range(*bounds))
    for gone in draw(st.lists(spans(low), max_size=4)):
        rows -= set(range(*gone))
    there = sorted(rows)
    again = draw(st.lists(st.sampled_from(there), max_size=5)) if there else []
    hidden = {each for span in draw(st.lists(spans(low), max_size=3)) for each in range(*span)}
    return World(
        bounds=bounds,
        rows=[*there, *again],
        hidden=hidden,
        held=draw(st.none() | spans(low)),
        committed=draw(st.none() | NEAR.map(lambda each: low + each)),
    )


# -- missing offsets -------------------------------------------------------------------------------


@settings(max_examples=50)
@given(worlds())
def test_what_is_missing_is_what_is_missing_row_by_row(world: World) -> None:
    assert world.missing() == world.right()


@settings(max_examples=50)
@given(worlds())
def test_rows_and_offsets_are_counted_as_they_are(world: World) -> None:
    suspect = world.suspect()
    assert (suspect.rows, suspect.offsets) == (len(world.rows), len(set(world.rows)))
    assert (suspect.doubled is None) == (len(world.rows) == len(set(world.rows)))


@settings(max_examples=50)
@given(worlds())
def test_without_a_log_all_missing_offsets_are_lost_and_untold(world: World) -> None:
    found = world.missing(with_log=False)
    gone = len(range(*world.bounds)) - len(set(world.rows))
    assert (found.lost, found.untold, found.invisible) == (gone, gone, 0)


@given(st.sets(st.integers(0, BUCKET - 1), max_size=50), st.integers(0, 3), st.booleans())
def test_the_holes_of_a_bitmap_are_the_offsets_without_a_bit(
    some: set[int], bucket: int, few: bool
) -> None:
    offsets = some if few else set(range(BUCKET)) - some
    rows = [bucket * BUCKET + each for each in offsets]
    bounds = Span(bucket * BUCKET, (bucket + 1) * BUCKET)
    found = [each for hole in holes(bitmap(rows, bucket), bounds) for each in range(*hole)]
    assert found == sorted(set(range(*bounds)) - set(rows))


def test_only_buckets_that_disagree_are_looked_at_again() -> None:
    world = World(Span(0, 5 * BUCKET), [each for each in range(4 * BUCKET) if each != BUCKET + 3])
    suspect = world.suspect()
    assert suspect.short == (1,)
    assert suspect.empty == (Span(4 * BUCKET, 5 * BUCKET),)


def test_offsets_missing_on_both_sides_of_a_bucket_are_one_range() -> None:
    rows = [*range(BUCKET - 2), *range(3 * BUCKET + 4, 4 * BUCKET)]
    assert World(Span(0, 4 * BUCKET), rows).missing().examples == (
        Span(BUCKET - 2, 3 * BUCKET + 4),
    )


def test_a_bucket_of_which_one_offset_is_in_the_log_may_be_the_one_without_rows() -> None:
    rows = [*range(BUCKET, 2 * BUCKET)]
    assert World(Span(BUCKET - 1, 2 * BUCKET + 1), rows).missing().examples == (
        Span(BUCKET - 1, BUCKET),
        Span(2 * BUCKET, 2 * BUCKET + 1),
    )


def test_each_partition_gets_its_own_bitmaps() -> None:
    first = World(Span(0, BUCKET), [*range(5)])
    whole = World(Span(0, 9), [*range(9)])
    last = World(Span(0, BUCKET), [*range(7)])
    bounds = {0: first.bounds, 1: whole.bounds, 2: last.bounds}
    suspected = suspects(bounds, [*last.counts(2), *whole.counts(1), *first.counts(0)])
    came = gaps(suspected, [*first.bitmaps(0), *last.bitmaps(2)])
    assert [(partition, list(found)) for partition, found in came] == [
        (0, [Span(5, BUCKET)]),
        (1, []),
        (2, [Span(7, BUCKET)]),
    ]


def test_an_empty_table_of_a_long_log_takes_no_longer() -> None:
    far = 1 << 50
    suspected = suspects({0: Span(0, far)}, [])
    ((_, found),) = gaps(suspected, [])
    assert weighed(0, found, None, 10) == Missing(
        lost=far, untold=far, committed=10, first=0, examples=(Span(0, far),)
    )


def test_bitmaps_are_taken_one_by_one() -> None:
    taken: list[int] = []

    def one_by_one() -> Iterator[Bitmap]:
        for bucket in range(3):
            taken.append(bucket)
            yield bitmap([bucket * BUCKET], bucket)

    rows = [0, BUCKET, 2 * BUCKET]
    suspected = {0: World(Span(0, 3 * BUCKET), rows).suspect()}
    for _, found in gaps(suspected, one_by_one()):
        assert next(found) == Span(1, BUCKET)
        assert taken == [0, 1]


@given(st.lists(st.integers(0, 60)).map(lambda found: sorted(set(found))))
def test_neighbours_become_one_range(offsets: list[int]) -> None:
    assert list(joined(Span(each, each + 1) for each in offsets)) == list(ranges(offsets))


def test_examples_are_the_first_lost_ranges_without_what_nobody_sees() -> None:
    world = World(Span(0, 40), [each for each in range(40) if each % 4], hidden={0, 8, 9})
    assert world.missing().examples == tuple(Span(each, each + 1) for each in (4, 12, 16, 20, 24))


def test_a_log_that_says_it_piece_by_piece_gives_one_example() -> None:
    class Pieces:
        def look(self, partition: int, span: Span) -> list[Sight]:
            return [Sight(Span(each, each + 1), held=True) for each in range(*span)]

    assert weighed(0, [Span(3, 9)], Pieces(), None).examples == (Span(3, 9),)


# -- findings --------------------------------------------------------------------------------------


def verdict_on(world: World, *strays: StrayCount, **more: object) -> TableVerdict:
    """Judge partition 0 of topic `t`."""
    known = {"given": False, "group": None, "late": {}, "ends": {}, **more}
    committed = {} if world.committed is None else {0: world.committed}
    truth = Truth(
        topic="t",
        bounds={0: world.bounds},
        given=bool(known["given"]),
        group="g" if committed else None,
        committed=committed,
    )
    evidence = Evidence(
        suspects={0: world.suspect()},
        strays=strays,
        missing={0: world.missing()},
        doubled={0: (Span(2, 3),)},
        ends=known["ends"],  # type: ignore[arg-type]
        late=known["late"],  # type: ignore[arg-type]
    )
    return judge(truth, evidence)


def kinds(verdict: TableVerdict) -> list[FindingKind]:
    return [finding.kind for finding in verdict.findings]


WHOLE = World(Span(3, 9), [*range(3, 9)])


def test_a_table_with_each_record_once_is_clean() -> None:
    verdict = verdict_on(WHOLE)
    assert (verdict.clean, verdict.notes) == (True, ())
    assert [(row.tp, row.rows) for row in verdict.partitions] == [(TopicPartition("t", 0), 6)]


def test_offsets_that_nobody_sees_are_no_finding() -> None:
    verdict = verdict_on(World(Span(0, 6), [0, 1, 2, 5], hidden={3, 4}))
    assert verdict.clean
    assert verdict.partitions[0].invisible == 2


def test_lost_offsets_are_a_finding_with_examples() -> None:
    (finding,) = verdict_on(World(Span(0, 6), [0, 3, 5])).findings
    assert (finding.kind, finding.count) == (FindingKind.LOST, 3)
    assert finding.examples == (Span(1, 3), Span(4, 5))


def test_doubled_rows_are_counted_beyond_the_first() -> None:
    (finding,) = verdict_on(World(Span(0, 4), [0, 1, 2, 2, 2, 3])).findings
    assert (finding.kind, finding.count, finding.examples) == (
        FindingKind.DOUBLED,
        2,
        (Span(2, 3),),
    )


def test_a_commit_ahead_of_the_table_is_a_finding_of_its_own() -> None:
    verdict = verdict_on(World(Span(0, 8), [0, 1, 4, 5], committed=5))
    assert kinds(verdict) == [FindingKind.LOST, FindingKind.AHEAD]
    assert verdict.findings[1].count == 2
    assert "the first is 2" in verdict.findings[1].text


def test_a_commit_at_the_first_missing_offset_is_not_ahead() -> None:
    assert kinds(verdict_on(World(Span(0, 8), [0, 1, 4, 5], committed=2))) == [FindingKind.LOST]


def test_a_commit_over_what_nobody_sees_is_not_ahead() -> None:
    assert verdict_on(World(Span(0, 4), [0, 1], hidden={2, 3}, committed=4)).clean


def test_a_commit_behind_the_end_of_the_log_is_a_finding() -> None:
    world = World(Span(0, 4), [0, 1, 2, 3], committed=9)
    assert kinds(verdict_on(world, ends={0: 8})) == [FindingKind.BEYOND]
    assert verdict_on(world, ends={0: 9}).clean
    assert verdict_on(world, given=True).clean


def test_rows_the_log_has_dropped_are_a_note_and_outside_given_bounds_a_finding() -> None:
    stray = StrayCount(Astray.BEFORE, 0, 7, 1, 2)
    asked = verdict_on(WHOLE, stray)
    assert (asked.clean, asked.partitions[0].outside) == (True, 7)
    assert "7 rows lie below 3" in asked.notes[0]
    given = verdict_on(WHOLE, stray, given=True)
    assert (kinds(given), given.notes) == ([FindingKind.OUTSIDE], ())


def test_rows_that_were_written_meanwhile_are_a_note_and_those_behind_the_log_a_finding() -> None:
    stray = StrayCount(Astray.BEHIND, 0, 7, 9, 30)
    asked = verdict_on(WHOLE, stray, ends={0: 31})
    assert asked.clean
    assert "7 rows lie behind 9" in asked.notes[0]
    late = verdict_on(WHOLE, stray, ends={0: 20}, late={0: 2})
    assert (kinds(late), late.findings[0].count) == ([FindingKind.OUTSIDE], 2)
    assert "5 rows lie behind 9" in late.notes[0]
    assert kinds(verdict_on(WHOLE, stray, given=True)) == [FindingKind.OUTSIDE]


def test_rows_of_no_partition_and_without_a_place_are_findings() -> None:
    verdict = verdict_on(
        WHOLE,
        StrayCount(Astray.NO_PARTITION, None, 2, 5, 6),
        StrayCount(Astray.NO_PLACE, None, 1, None, None),
    )
    assert kinds(verdict) == [FindingKind.OUTSIDE, FindingKind.NO_PLACE]
    assert [finding.tp for finding in verdict.findings] == [None, None]


def test_lost_offsets_the_log_cannot_speak_of_are_noted() -> None:
    verdict = verdict_on(World(Span(0, 6), [0, 3, 5], held=Span(2, 6)))
    assert (verdict.partitions[0].lost, verdict.partitions[0].untold) == (3, 1)
    assert "1 lost offset" in verdict.notes[0]
