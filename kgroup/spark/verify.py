"""What Spark is asked about a table: numbers for each bucket of offsets first, then the rest.

Decides: that the first look is one aggregate inside the JVM, whose answer has a row for each bucket
of 32,768 offsets, and that the second takes only buckets that disagree: a bitmap of each that
lacks offsets, and a few rows of the first of each partition that has some twice.
Never: brings rows of a table into Python one by one, or more than a bounded number at once; judges
what it finds.

Objects of pyspark are not typed here: the library is optional.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from kgroup.spark.counting import (
    BUCKET,
    BUCKET_BITS,
    EXAMPLES,
    Astray,
    Bitmap,
    BucketCount,
    Counts,
    Log,
    Span,
    StrayCount,
    Suspect,
    gaps,
    joined,
    part_of,
    suspects,
    weighed,
)
from kgroup.spark.table import Rows, functions
from kgroup.spark.verdict import Evidence, TableVerdict, Truth, judge
from kgroup.values import dataclass

Say = Callable[[str], None]

_INSIDE: Final = -1
_WORD_BITS: Final = 6
"""Offsets of one word, as a power of two: as many as a Spark `bigint` has bits."""
_ASTRAY: Final = tuple(Astray)
_NARROW: Final = 50
"""Ranges of offsets that are worth a condition of their own; more would be one long condition."""
_SHOWN: Final = 4 * EXAMPLES
"""Offsets with several rows that are brought of one partition."""


# -- the first look --------------------------------------------------------------------------------


def count(spark: Any, rows: Rows, bounds: Mapping[int, Span]) -> Counts:  # noqa: ANN401
    """Return how many rows and how many different offsets each bucket has.

    Args:
        spark: the session.
        rows: of the topic.
        bounds: partition -> where its log begins and ends.
    """
    f = functions()
    # Words of 64 offsets first: Spark hashes numbers, and sorts rows to build a bitmap of each.
    words = (
        _placed(f, spark, rows.all, bounds)
        .groupBy("why", "part", "word")
        .agg(
            f.count(f.lit(1)).alias("rows"),
            f.bit_or("bit").alias("bits"),
            f.min("number").alias("lowest"),
            f.max("number").alias("highest"),
        )
    )
    asked = words.groupBy(
        "why", "part", f.shiftright("word", BUCKET_BITS - _WORD_BITS).alias("bucket")
    ).agg(
        f.sum("rows").alias("rows"),
        f.sum(f.bit_count("bits")).alias("offsets"),
        f.min("lowest").alias("lowest"),
        f.max("highest").alias("highest"),
    )
    buckets: list[BucketCount] = []
    strays: list[StrayCount] = []
    for why, part, bucket, many, offsets, lowest, highest in asked.toLocalIterator():
        if why == _INSIDE:
            buckets.append(BucketCount(part, bucket, many, offsets))
        else:
            strays.append(StrayCount(_ASTRAY[why], part, many, lowest, highest))
    strays.sort(key=lambda stray: -1 if stray.partition is None else stray.partition)
    return Counts(tuple(buckets), tuple(strays))


def _placed(f: Any, spark: Any, rows: Any, bounds: Mapping[int, Span]) -> Any:  # noqa: ANN401
    """Return for each row why it is astray, partition, word, bit and what is shown of it."""
    p, o, first, end = (f.col(name) for name in ("p", "o", "first", "end"))
    why = (
        f.when(p.isNull() | o.isNull(), _ASTRAY.index(Astray.NO_PLACE))
        .when(first.isNull(), _ASTRAY.index(Astray.NO_PARTITION))
        .when(o < first, _ASTRAY.index(Astray.BEFORE))
        .when(o >= end, _ASTRAY.index(Astray.BEHIND))
        .otherwise(_INSIDE)
    )
    nobody = f.col("why").isin(_ASTRAY.index(Astray.NO_PLACE), _ASTRAY.index(Astray.NO_PARTITION))
    inside = f.col("why") == _INSIDE
    joined_rows = rows.join(f.broadcast(_frame_of(spark, bounds)), "p", "left")
    return joined_rows.select("p", "o", why.alias("why")).select(
        "why",
        f.when(~nobody, p).alias("part"),
        f.when(inside, f.shiftright(o, _WORD_BITS)).alias("word"),
        f.when(inside, f.expr("shiftleft(1L, cast(o & 63 as int))")).alias("bit"),
        f.when(nobody, p).otherwise(o).alias("number"),
    )


def _frame_of(spark: Any, bounds: Mapping[int, Span]) -> Any:  # noqa: ANN401 - pyspark's
    rows = [(p, span.first, span.end) for p, span in bounds.items()]
    return spark.createDataFrame(rows, "p bigint, first bigint, end bigint")


# -- the second look -------------------------------------------------------------------------------


def bitmaps(
    spark: Any,  # noqa: ANN401 - pyspark's session
    rows: Rows,
    suspected: Mapping[int, Suspect],
) -> Iterator[Bitmap]:
    """Yield the bitmap of each bucket that lacks offsets and has some, in order.

    Args:
        spark: the session.
        rows: of the topic.
        suspected: what is to be looked at.
    """
    f = functions()
    short = {p: _joined_buckets(each.short) for p, each in suspected.items() if each.short}
    if not short:
        return
    bounds = {p: suspected[p].bounds for p in short}
    spans = [(p, span.within(bounds[p])) for p, found in short.items() for span in found]
    p, bucket, first, end = (f.col(name) for name in ("p", "bucket", "first", "end"))
    known = f.broadcast(_frame_of(spark, bounds))
    within = _only(f, rows.placed, spans).join(known, "p")
    within = within.where((f.col("o") >= first) & (f.col("o") < end))
    counted = within.groupBy(p, f.shiftright(f.col("o"), BUCKET_BITS).alias("bucket")).agg(
        f.bitmap_construct_agg(f.col("o").bitwiseAND(f.lit(BUCKET - 1).cast("bigint"))).alias(
            "bits"
        ),
        f.min(first).alias("first"),
        f.min(end).alias("end"),
    )
    whole = f.least(end, (bucket + 1) * BUCKET) - f.greatest(first, bucket * BUCKET)
    lacking = counted.where(f.bitmap_count("bits") < whole)
    for part, number, bits in (
        lacking.select(p, bucket, "bits").orderBy(p, bucket).toLocalIterator()
    ):
        yield Bitmap(part, number, bytes(bits))


def _joined_buckets(buckets: Sequence[int]) -> list[Span]:
    return list(joined(Span(each << BUCKET_BITS, (each + 1) << BUCKET_BITS) for each in buckets))


def _only(f: Any, rows: Any, spans: Collection[tuple[int, Span]]) -> Any:  # noqa: ANN401
    """Return the rows of some ranges; all rows when there are too many ranges."""
    if len(spans) > _NARROW:
        return rows
    condition = f.lit(False)  # noqa: FBT003 - Spark's
    for partition, span in spans:
        here = (f.col("o") >= span.first) & (f.col("o") < span.end)
        condition = condition | ((f.col("p") == partition) & here)
    return rows.where(condition)


def doubled(
    rows: Rows,
    suspected: Mapping[int, Suspect],
) -> dict[int, tuple[Span, ...]]:
    """Return the first few offsets with several rows, of the first partitions that have some.

    Args:
        rows: of the topic.
        suspected: what is to be looked at.
    """
    f = functions()
    from pyspark.sql import Window  # noqa: PLC0415 - see `functions`

    first = [
        (p, part_of(each.doubled, each.bounds))
        for p, each in suspected.items()
        if each.doubled is not None
    ][:_NARROW]
    if not first:
        return {}
    many = _only(f, rows.placed, first).groupBy("p", "o").count().where(f.col("count") > 1)
    place = f.row_number().over(Window.partitionBy("p").orderBy("o"))
    shown = many.withColumn("place", place).where(f.col("place") <= _SHOWN)
    found = [(row["p"], row["o"]) for row in shown.orderBy("p", "o").collect()]
    return {
        p: tuple(joined(Span(o, o + 1) for _, o in offsets))[:EXAMPLES]
        for p, offsets in groupby(found, key=lambda each: each[0])
    }


def late(rows: Rows, strays: Sequence[StrayCount], ends: Mapping[int, int]) -> dict[int, int]:
    """Return how many rows are at or behind the end that a log has now, where there are any.

    Args:
        rows: of the topic.
        strays: rows that are not within the bounds.
        ends: partition -> the end of its log now.
    """
    f = functions()
    found: dict[int, int] = {}
    for each in strays:
        end = None if each.partition is None else ends.get(each.partition)
        if each.why is not Astray.BEHIND or end is None or (each.highest or 0) < end:
            continue
        assert each.partition is not None
        behind = (f.col("p") == each.partition) & (f.col("o") >= end)
        found[each.partition] = rows.placed.where(behind).count()
    return found


# -- the whole -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What a table is compared with while it is looked at.

    Args:
        log: says which offsets are handed out; None when nobody can be asked.
        ends: returns where each log ends now; None when nobody can be asked.
        say: takes a line about how far it is.
    """

    log: Log | None = None
    ends: Callable[[], Mapping[int, int]] | None = None
    say: Say = print


def verify(spark: Any, rows: Rows, truth: Truth, sides: Sides) -> TableVerdict:  # noqa: ANN401
    """Return the verdict on a table.

    Args:
        spark: the session.
        rows: of the topic.
        truth: where logs begin and end, and what is committed.
        sides: what is asked meanwhile.

    Raises:
        KGroupError: a log could not be asked.
    """
    span = sum(each.size for each in truth.bounds.values())
    sides.say(f"looking at {span:,} offsets of {len(truth.bounds)} partitions")
    counts = count(spark, rows, truth.bounds)
    suspected = suspects(truth.bounds, counts.buckets)
    short = sum(len(each.short) for each in suspected.values())
    lacking = sum(each.bounds.size - each.offsets for each in suspected.values())
    if lacking:
        sides.say(f"{lacking:,} offsets have no row; {short:,} buckets are looked at again")
    missing = {
        p: weighed(p, found, sides.log, truth.committed.get(p))
        for p, found in gaps(suspected, bitmaps(spark, rows, suspected))
    }
    ends = {} if sides.ends is None else sides.ends()
    return judge(
        truth,
        Evidence(
            suspects=suspected,
            strays=counts.strays,
            missing=missing,
            doubled=doubled(rows, suspected),
            ends=ends,
            late={} if truth.given else late(rows, counts.strays, ends),
            log_asked=sides.log is not None,
        ),
    )
