"""Groups that are plainly well, found by SQL, with their numbers.

Decides: what is plain. Of a member: numbered without a hole, in order of time, from its start to
its stop, never paused. Of a claim: assigned, its offset read, records delivered one behind the
other, and given up, each once and in this order. Of a partition: claims one after the other in
time, each beginning where the one before ended. Such a group has nothing that an audit could
report: nothing is lost, repeated, out of order, delivered without owning or owned by two.
Never: says that a group is not well; that is for the judge.

Data frames are pyspark's; they are not typed here, for the library is optional.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from kgroup.journal.faults import StateCause
from kgroup.spark.audit.belonging import Gathered, Lines
from kgroup.spark.audit.form import COLUMNS, FORM
from kgroup.spark.audit.telling import STORED, TOLD, TellKind, tell
from kgroup.spark.table import arrow_function, functions
from kgroup.types import TopicPartition

Frame: TypeAlias = Any
Bounds: TypeAlias = Mapping[TopicPartition, tuple[int, int]]

_SOURCE: Final = ("path", "host", "process", "member", "group")
_CLAIM: Final = ("topic", "partition", "host", "process", "member", "serial")
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_STORED: Final = ", ".join(f"'{kind}'" for kind in STORED)


# -- lines -----------------------------------------------------------------------------------------


def read(
    spark: Any,  # noqa: ANN401 - pyspark's session
    paths: Iterable[Path],
    *,
    text: bool = False,
) -> Frame:
    """Return the lines of some files: what the sieve looks at, and `value` of what it cannot read.

    Lines of a file are in order of `block` and `mid`.

    Args:
        spark: the session.
        paths: of the files.
        text: whether a line that the sieve reads comes too, as `text`.
    """
    f = functions()
    # Spark takes a path for a pattern.
    named = [re.sub(r"([\\{}\[\]*?,])", r"\\\1", str(path.resolve())) for path in paths]
    fits = f.coalesce(f.col("value").rlike(FORM), f.expr("false"))
    with _listed_at_once(spark):
        lines = spark.read.option("lineSep", "\n").text(named)
    plain = f.when(fits, f.col("value").cast("binary")).alias("text")
    return lines.select(
        f.col("_metadata.file_path").alias("path"),
        f.col("_metadata.file_block_start").alias("block"),
        f.monotonically_increasing_id().alias("mid"),
        f.when(fits, f.from_json("value", COLUMNS)).alias("row"),
        f.when(~fits, f.col("value").cast("binary")).alias("value"),
        *([plain] if text else []),
    ).select("path", "block", "mid", "value", *(["text"] if text else []), "row.*")


@contextmanager
def _listed_at_once(spark: Any) -> Iterator[None]:  # noqa: ANN401 - pyspark's session
    """Have Spark look for files in few tasks; by itself it makes one of each path."""
    before = spark.conf.get(_LISTING)
    spark.conf.set(_LISTING, spark.sparkContext.defaultParallelism)
    try:
        yield
    finally:
        spark.conf.set(_LISTING, before)


def sources(lines: Frame) -> list[Lines]:
    """Return what each file holds of each source, and whose the lines are that do not fit."""
    found = [_lines(row) for row in _by_source(lines).collect()]
    told = arrow_function(tell, f"struct<{TOLD}>")
    strange = lines.where("value is not null").select("path", told("value").alias("told"))
    for row in strange.select("path", "told.*").distinct().collect():
        own, faults, stored = (int(row["kind"] == kind.value) for kind in TellKind)
        found.append(
            Lines(path=row["path"], group=row["group"], own=own, faults=faults, stored=stored)
        )
    return found


def _by_source(lines: Frame) -> Frame:
    f = functions()
    from pyspark.sql import Window  # noqa: PLC0415 - see `functions`

    place = ("block", "mid")
    before = f.lag("seq").over(Window.partitionBy(*_SOURCE).orderBy(*place))
    # A line that comes late in its file comes late when files are merged, whoever wrote it.
    past = Window.partitionBy("path").orderBy(*place).rowsBetween(Window.unboundedPreceding, -1)
    return (
        lines.where("value is null")
        .withColumn("latest", f.max("at").over(past))
        .withColumn("before", before)
        .groupBy(*_SOURCE)
        .agg(
            *map(
                f.expr,
                (
                    "count(*) as entries",
                    f"count_if(event not in ({_STORED})) as own",
                    "count_if(event = 'fault') as faults",
                    f"count_if(event in ({_STORED}) and event != 'fault') as stored",
                    "min(struct(struct(block, mid) as place, wall, at)) as head",
                    "min(at) as first_at",
                    "max(at) as last_at",
                    "count_if(seq != coalesce(before, 0) + 1) as holes",
                    "count_if(at < latest) as back",
                    "count_if(event = 'paused') as paused",
                    "count_if(event = 'member_started') as started",
                    "count_if(event = 'member_stopped') as stopped",
                    "min_by(event, struct(block, mid)) as begins",
                    "max_by(event, struct(block, mid)) as ends",
                    f"min(seq) filter (where event = 'state' and cause = '{_BACK}') as left",
                    "max(seq) filter (where event = 'ownership' and kind = 'revoked') as revoked",
                ),
            )
        )
    )


_BACK: Final = StateCause.HANDED_BACK.value


def _lines(row: Any) -> Lines:  # noqa: ANN401 - pyspark's
    place, wall, at = row["head"]
    return Lines(
        path=row["path"],
        source=(row["host"], row["process"], row["member"]),
        group=row["group"],
        entries=row["entries"],
        own=row["own"],
        faults=row["faults"],
        stored=row["stored"],
        first=((place["block"], place["mid"]), wall, at),
        first_at=row["first_at"],
        last_at=row["last_at"],
        why=_not_plain(row),
    )


def _not_plain(row: Any) -> str | None:  # noqa: ANN401 - pyspark's
    whole = (row["started"], row["stopped"], row["begins"], row["ends"])
    if row["holes"]:
        return "a log has a hole, or is not in order"
    if row["back"]:
        return "a clock went back"
    if row["stored"]:
        return "somebody watched the coordinator"
    if row["paused"]:
        return "a member paused"
    if whole != (1, 1, "member_started", "member_stopped"):
        return "a member did not start, or did not stop"
    if row["left"] is not None and row["revoked"] is not None and row["left"] < row["revoked"]:
        return "a member revoked after it had left"
    return None


# -- partitions ------------------------------------------------------------------------------------


def partitions(
    lines: Frame, groups: Sequence[tuple[int, Gathered]], bounds: Bounds | None
) -> Frame:
    """Return the numbers of the partitions of some groups, and whether each is plain.

    Args:
        lines: all that the files hold.
        groups: with a number for each, those whose members are plain.
        bounds: where logs end, as a broker said it; None when nobody did.
    """
    spark = lines.sparkSession
    places = [
        (path, number, gathered.key[1] or "", gathered.shifts[path])
        for number, gathered in groups
        for path in gathered.paths
    ]
    where = spark.createDataFrame(places, "path string, gid bigint, name string, shift double")
    steps = _steps(lines.withColumn("name", functions().expr("coalesce(group, '')")), where)
    rows = _by_partition(_by_claim(_chained(steps)))
    return rows if bounds is None else _bounded(rows, bounds)


def _steps(lines: Frame, where: Frame) -> Frame:
    """Return what happened to each claim, `w` in a letter each."""
    f = functions()
    word = """case event
        when 'deliver' then 'd' when 'commit' then 'c'
        when 'offset_read' then if(offset is null, 'O', 'o')
        when 'position' then if(move = 'reset', 'P', 'x')
        else if(phase = 'begin', upper(substr(kind, 1, 1)), substr(kind, 1, 1)) end"""
    kinds = "event in ('deliver', 'offset_read', 'position', 'ownership')"
    claims = "explode(if(event = 'ownership', claims, array(claim))) as one"
    found = lines.where(f"{kinds} or (event = 'commit' and stage = 'ok')")
    return (
        found.join(f.broadcast(where), ["path", "name"])
        .withColumn("at", f.expr("if(shift = 0.0, at, at + shift)"))
        .withColumn("w", f.expr(word))
        .selectExpr("*", claims)
        .withColumn("topic", f.expr("one[0]"))
        .withColumn("partition", f.expr("cast(one[1] as bigint)"))
        .withColumn("serial", f.expr("cast(one[2] as bigint)"))
        .withColumn(
            "pos", f.expr("case when w in ('o', 'P') then offset when w = 'd' then last + 1 end")
        )
        .select("gid", *_CLAIM, "seq", "at", "w", "pos", "first", "last", "count", "offset")
    )


def _chained(steps: Frame) -> Frame:
    """Return steps with what is not plain of each, beside the one before it at its partition."""
    f = functions()
    from pyspark.sql import Window  # noqa: PLC0415 - see `functions`

    order = Window.partitionBy("gid", "topic", "partition").orderBy("at", "seq")
    past = order.rowsBetween(Window.unboundedPreceding, -1)
    me = f.struct("host", "process", "member", "serial")
    wrong = """case w
        when 'd' then not coalesce(
            first = held and count = last - first + 1 and last >= first, false)
        when 'x' then true
        else pos is not null and (pos < 0 or pos != coalesce(held, pos)) end"""
    return (
        steps.withColumn("me", me)
        .withColumn("former", f.lag("me").over(order))
        .withColumn("before", f.lag("at").over(order))
        .withColumn("held", f.last("pos", ignorenulls=True).over(past))
        .withColumn("heard", f.last(f.expr("if(w = 'd', at, null)"), ignorenulls=True).over(past))
        .withColumn("changed", f.expr("former is null or former != me"))
        .withColumn(
            "wrong", f.expr(f"({wrong}) or (former is not null and changed and before >= at)")
        )
    )


_RIGHT: Final = """
    n_A = 1 and na = 1 and n_R + n_L = 1 and nr = n_R and nl = n_L and s_A < sa
    and greatest(s_R, s_L) > coalesce(last_used, sa) and s_close > greatest(s_R, s_L)
    and coalesce(first_used, sa + 1) > sa
    and no + n_O <= 1 and nP <= n_O and (nP = 0 or s_O < sP)
    and (nd + nc = 0 or (no + nP = 1 and s_read < coalesce(first_other, s_read + 1)))
"""
"""What is plain of one claim, by how often (n) and when (s) each step came."""


def _by_claim(chained: Frame) -> Frame:
    f = functions()
    names = {"A": "_A", "a": "a", "R": "_R", "r": "r", "L": "_L", "l": "l", "o": "o", "O": "_O"}
    names |= {"P": "P", "d": "d", "c": "c"}
    counts = [f"count_if(w = '{word}') as n{name}" for word, name in names.items()]
    when = {
        "s_A": "'A'", "sa": "'a'", "s_R": "'R'", "s_L": "'L'", "s_O": "'O'", "sP": "'P'",
        "s_read": "'o', 'P'", "first_other": "'d', 'c'", "first_used": "'o', 'O', 'P', 'd', 'c'",
    }  # fmt: skip
    firsts = [f"min(seq) filter (where w in ({words})) as {name}" for name, words in when.items()]
    order = "struct(at, seq)"
    rest = (
        "max(seq) filter (where w in ('o', 'O', 'P', 'd')) as last_used",
        "min(seq) filter (where w in ('r', 'l')) as s_close",
        "count_if(wrong) as wrong",
        "count_if(changed) as changes",
        f"min_by(pos, {order}) filter (where pos is not null) as start",
        f"max_by(pos, {order}) filter (where pos is not null) as held",
        f"max_by(offset, {order}) filter (where w = 'c') as committed",
        f"min({order}) as since",
        "sum(if(w = 'd', count, 0)) as records",
        "max(if(w = 'd', at - heard, null)) as silence",
    )
    columns = map(f.expr, (*counts, *firsts, *rest))
    claims = chained.groupBy("gid", *_CLAIM).agg(*columns)
    return claims.withColumn("wrong", f.expr(f"wrong > 0 or not coalesce({_RIGHT}, false)"))


def _by_partition(claims: Frame) -> Frame:
    f = functions()
    rows = claims.groupBy("gid", "topic", "partition").agg(
        f.expr("bool_or(wrong) or sum(changes) != count(*) as wrong"),
        f.expr("min_by(start, since) filter (where start is not null) as start"),
        f.expr("max_by(held, since) filter (where held is not null) as held"),
        f.expr("max_by(committed, since) filter (where committed is not null) as committed"),
        f.expr("sum(records) as records"),
        f.expr("count(*) as periods"),
        f.expr("max(silence) as silence"),
    )
    wrong = "wrong or coalesce(committed > held, false)"
    return rows.withColumn("wrong", f.expr(wrong))


def _bounded(rows: Frame, bounds: Bounds) -> Frame:
    """Return rows set against where logs end; a partition that nobody had is a row, and wrong."""
    f = functions()
    known = [(tp.topic, tp.partition, end) for tp, (_, end) in bounds.items()]
    ends = rows.sparkSession.createDataFrame(known, "topic string, partition bigint, high bigint")
    read = rows.where("start is not null").select("gid", "topic").distinct()
    asked = read.join(f.broadcast(ends), "topic")
    both = rows.join(asked, ["gid", "topic", "partition"], "full")
    wrong = "coalesce(wrong, true) or (high is not null and not coalesce(held = high, false))"
    return both.withColumn("wrong", f.expr(wrong)).drop("high")
