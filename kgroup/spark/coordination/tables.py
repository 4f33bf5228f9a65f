"""Each table as a function from data frames to a data frame, for jobs of your own.

    from kgroup.spark.coordination import tables

    records = tables.read(spark, {"kafka.bootstrap.servers": "localhost:9092"})
    silver = tables.silver(records)
    tables.rebalance(silver).where("moved > 0").show()

Decides: how rows come together: records of a log partition in their order, rows of a group in one
place. What is made of them is decided in Python, a group at a time.
Never: writes anything.

Data frames are pyspark's; they are not typed here, for the library is optional.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from kgroup.marshal.rules import MARSHAL_TOPIC
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.claims import claims
from kgroup.spark.coordination.lag import positions
from kgroup.spark.coordination.ownership import ownership as owned
from kgroup.spark.coordination.schema import (
    PLAIN,
    REST,
    TAG,
    Row,
    Table,
    arrow_schema,
    ddl,
    decoded_schema,
    tagged,
    tagged_schema,
)
from kgroup.spark.coordination.silver import OFFSETS_TOPIC, RawRecord
from kgroup.spark.table import arrow_function, functions

Frame: TypeAlias = Any
"""A data frame of pyspark."""
Frames: TypeAlias = Mapping[str, Frame]
"""Name of a table -> its data frame."""

TOPICS: Final = (OFFSETS_TOPIC, MARSHAL_TOPIC)

_OF_GROUPS: Final = (d.GENERATION, d.MEMBER, d.ASSIGNMENT, d.COMMIT_LOG, d.LOG_END)
"""What the gold of a group is made of."""
_USED: Final = frozenset(
    {
        *("topic", "partition", "topic_id", "kind", "generation", "leader", "state_ts"),
        *("member_id", "instance_id", "client_id", "tombstone", "log_partition", "log_offset"),
        *("offset", "gen_by_order", "commit_ts", "append_ts", "ts", "high"),
    }
)
"""The columns that it is made of."""
_CHUNK: Final = 10_000
"""Records that are decoded at a time, as Spark does it."""


# -- bronze ----------------------------------------------------------------------------------------


def read(spark: Any, options: Mapping[str, str], topics: Iterable[str] = TOPICS) -> Frame:  # noqa: ANN401
    """Return the records of coordination logs as they are now: `raw`.

    Args:
        spark: the session.
        options: of `format("kgroup")`; where to begin and end, for example.
        topics: names of the logs; `options` may have `assign` instead.
    """
    f = functions()
    given = {"kafka.isolation.level": "read_committed", **options, "includeHeaders": "true"}
    if "assign" not in given:
        given["subscribe"] = ",".join(topics)
    return (
        spark.read.format("kgroup")
        .options(**given)
        .load()
        .select(
            f.col("topic").alias("src"),
            f.col("partition").alias("log_partition"),
            f.col("offset").alias("log_offset"),
            f.unix_millis("timestamp").alias("append_ts"),
            (f.col("timestampType") == 1).alias("append_time"),
            "key",
            "value",
            "headers",
        )
    )


# -- silver ----------------------------------------------------------------------------------------


def decoded(raw: Frame, generations: Mapping[str, int] | None = None) -> Frame:
    """Return what records say, a row of one silver table or rows of several; see `part`.

    Args:
        raw: records; of one log partition all, or a part without a hole.
        generations: what stood before them, see `Silver`.
    """
    stood = dict(generations or {})
    in_order = raw.repartition("src", "log_partition").sortWithinPartitions(
        "src", "log_partition", "log_offset"
    )
    # `mapInArrow` would need pandas. A function that Spark takes for one that depends on its row
    # alone is asked twice, the first time out of order: which rows are none?
    found = _function(lambda batches: _decode(stood, batches), _decoded, by_group=False)
    found = found.asNondeterministic()
    # Spark takes 10 µs to hand a null array to Python, and nearly nothing for an empty one.
    given = in_order.withColumn("headers", functions().expr("coalesce(headers, array())"))
    return given.select(found(*RawRecord._fields).alias("found")).select("found.*")


def _function(work: Callable[..., Any], form: Callable[[], Any], *, by_group: bool) -> Any:  # noqa: ANN401
    """Return a function of columns that returns values of Arrow's type `form`."""
    from pyspark.sql.pandas.types import from_arrow_type  # noqa: PLC0415 - optional

    # Of Arrow, and not in words: a declarative pipeline lets nobody ask Spark what words mean.
    return arrow_function(work, from_arrow_type(form()), by_group=by_group)


def _decoded() -> Any:  # noqa: ANN401 - pyarrow's
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.struct(decoded_schema(d.COMMIT_LOG, d.SILVER))


def _decode(generations: Mapping[str, int], batches: Iterable[Any]) -> Iterator[Any]:
    from kgroup.spark.coordination.columns import Columns, batch_of  # noqa: PLC0415 - Arrow

    reader = Columns(generations)
    return map(reader.rows, map(batch_of, batches))


def part(rows: Frame, table: Table) -> Frame:
    """Return the rows of one table: of silver out of `decoded`, of gold out of `gold`."""
    if table in d.GOLD:
        return _tagged(rows, table)
    several = _tagged(rows.where(f"{REST} is not null").selectExpr(f"inline({REST})"), table)
    if table is not d.COMMIT_LOG:
        return several
    return rows.where(f"{PLAIN} is not null").select(f"{PLAIN}.*").unionByName(several)


def _tagged(rows: Frame, table: Table) -> Frame:
    return rows.where(functions().col(TAG) == table.name).select(f"{table.name}.*")


def counts(rows: Frame) -> dict[str, int]:
    """Return name of a silver table -> its rows in `decoded`."""
    f = functions()
    names = f.expr(f"if({REST} is null, array('{d.COMMIT_LOG.name}'), {REST}.{TAG})")
    return counts_of(rows.select(f.explode(names).alias(TAG)))


def counts_of(rows: Frame) -> dict[str, int]:
    """Return name of a table -> its rows in rows of several."""
    return {name: count for name, count in rows.groupBy(TAG).count().collect()}  # noqa: C416


def silver_of(raw: Any, generations: Mapping[str, int]) -> dict[str, Any]:  # noqa: ANN401 - pyarrow's
    """Return the silver tables of records in Arrow that have rows, without a Spark."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    from pyarrow import compute  # noqa: PLC0415 - optional

    order = [(name, "ascending") for name in ("src", "log_partition", "log_offset")]
    batches = raw.select(RawRecord._fields).sort_by(order).to_batches(max_chunksize=_CHUNK)
    said = pa.chunked_array(_decode(generations, (each.columns for each in batches)), _decoded())
    plain, several = said.flatten()
    rows = pa.Table.from_struct_array(compute.list_flatten(several))
    found = {table.name: part_of(rows, table) for table in d.SILVER}
    commits = pa.Table.from_struct_array(plain.drop_null())
    found[d.COMMIT_LOG.name] = pa.concat_tables([commits, found[d.COMMIT_LOG.name]])
    return {name: rows for name, rows in found.items() if len(rows)}


def part_of(rows: Any, table: Table) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the rows of one of several tables, in Arrow."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    from pyarrow import compute  # noqa: PLC0415 - optional

    own = rows.filter(compute.equal(rows.column(TAG), table.name)).column(table.name)
    return pa.Table.from_struct_array(own)


def silver(raw: Frame) -> dict[str, Frame]:
    """Return all silver tables, and `raw`; keep (`cache`) those that are used twice."""
    rows = decoded(raw)
    return {d.RAW.name: raw, **{table.name: part(rows, table) for table in d.SILVER}}


# -- gold ------------------------------------------------------------------------------------------


def gold(tables: Frames, names: Mapping[str, str] | None = None) -> Frame:
    """Return rows of all gold tables, each under the name of its own.

    Args:
        tables: `raw`, the silver tables, and `log_end` where there is one.
        names: id of a topic -> its name, beside those that each group's commits tell.
    """
    of_groups = groups_gold(tables, names or {})
    of_claims = claims_gold(tables)
    return of_groups.unionByName(of_claims)


def groups_gold(tables: Frames, names: Mapping[str, str]) -> Frame:
    """Return the gold of groups of Kafka's coordinator; see `gold`."""
    f = functions()
    given = dict(tables)
    if d.LOG_END.name in given:
        topics = given[d.COMMIT_LOG.name].select("log_partition", "group", "topic").distinct()
        given[d.LOG_END.name] = given[d.LOG_END.name].join(topics, "topic")
    frames = [
        given[table.name].select(
            "log_partition",
            "group",
            f.lit(table.name).alias(TAG),
            f.struct(*(name for name, _, _ in table.columns if name in _USED)).alias(table.name),
        )
        for table in _OF_GROUPS
        if table.name in given
    ]
    rows = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    told = dict(names)
    present = ["group", TAG, *(table.name for table in _OF_GROUPS if table.name in given)]
    made = _function(
        lambda *columns: _group_gold(told, dict(zip(present, columns, strict=True))),
        _gold,
        by_group=True,
    )
    made_of = rows.groupBy("log_partition", "group").agg(made(*present).alias("found"))
    return made_of.selectExpr("inline(found)")


def _group_gold(names: Mapping[str, str], columns: Mapping[str, Any]) -> Any:  # noqa: ANN401
    from pyarrow import compute  # noqa: PLC0415 - optional

    group = columns["group"][0].as_py()
    found: dict[str, list[Row]] = {table.name: [] for table in _OF_GROUPS}
    for name in found.keys() & columns.keys():
        found[name] = columns[name].filter(compute.equal(columns[TAG], name)).to_pylist()
    return _scalar([*owned(group, found, names), *positions(group, found)])


def claims_gold(tables: Frames) -> Frame:
    """Return the gold of Marshal groups; see `gold`."""
    raw = tables[d.RAW.name]
    logs = raw.where(functions().col("src") != OFFSETS_TOPIC)
    made = _function(lambda *columns: _claims_gold(columns), _gold, by_group=True)
    made_of = logs.groupBy("log_partition").agg(made(*RawRecord._fields).alias("found"))
    return made_of.selectExpr("inline(found)")


def _claims_gold(columns: Sequence[Any]) -> Any:  # noqa: ANN401 - pyarrow's
    from kgroup.spark.coordination.columns import batch_of, records_of  # noqa: PLC0415 - Arrow

    records = sorted(records_of(batch_of(columns)), key=lambda each: each.log_offset)
    return _scalar(claims(records, complete=records[0].log_offset == 0))


def _scalar(rows: Iterable[tuple[Table, Row]]) -> Any:  # noqa: ANN401 - pyarrow's
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.scalar([tagged(*each) for each in rows], _gold())


def _gold() -> Any:  # noqa: ANN401 - pyarrow's
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.list_(pa.struct(tagged_schema(d.GOLD)))


def _one(table: Table, tables: Frames) -> Frame:
    return part(gold(tables), table)


def ownership(tables: Frames) -> Frame:
    """Return who had which partition, from when to when; see `gold`."""
    return _one(d.OWNERSHIP, tables)


def unowned(tables: Frames) -> Frame:
    """Return when partitions had no owner any more."""
    return _one(d.UNOWNED, tables)


def rebalance(tables: Frames) -> Frame:
    """Return what each new generation changed."""
    return part(groups_gold(tables, {}), d.REBALANCE)


def lag(tables: Frames) -> Frame:
    """Return how far groups were behind; needs `log_end`."""
    return part(groups_gold(tables, {}), d.LAG)


def rewind(tables: Frames) -> Frame:
    """Return commits below the one before."""
    return part(groups_gold(tables, {}), d.REWIND)


def status(tables: Frames) -> Frame:
    """Return how each group does with each partition now."""
    return part(groups_gold(tables, {}), d.STATUS)


def hb_gap(tables: Frames) -> Frame:
    """Return owners in Marshal groups that did not beat."""
    return part(claims_gold(tables), d.HB_GAP)


def zombie(tables: Frames) -> Frame:
    """Return messages of Marshal members that are not the owner."""
    return part(claims_gold(tables), d.ZOMBIE)


def empty(spark: Any, table: Table) -> Frame:  # noqa: ANN401 - pyspark's session
    """Return a table without rows."""
    return spark.createDataFrame([], ddl(table))


def rows_of(spark: Any, table: Table, rows: list[Row]) -> Frame:  # noqa: ANN401 - pyspark's session
    """Return a table with some rows."""
    return spark.createDataFrame(arrow_of(table, rows))


def arrow_of(table: Table, rows: list[Row]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return rows as Arrow."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.Table.from_pylist(rows, arrow_schema(table))
