"""Live alarms: a streaming query over tables that grow.

    from kgroup.spark.coordination import alarms

    told = alarms.alarms(alarms.feed(spark, Path("groups")))

Decides: which rows come together: those of a partition of the log of claims, those of a topic; that
what is kept of one is a value of the state store. Time is that of logs and looks, not of Spark: by
its own time Spark would make a batch at each trigger, and never come to an end.
Never: decides what an alarm is; `watching` does.

Needs what Spark's `transformWithState` needs: protobuf and pandas.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any, Final

from kgroup.marshal.rules import MARSHAL_TOPIC
from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.beating import Limits
from kgroup.spark.coordination.schema import Row, Table, arrow_schema, ddl
from kgroup.spark.coordination.silver import OFFSETS_TOPIC
from kgroup.spark.coordination.store import Store, write_file
from kgroup.spark.coordination.tables import Frame
from kgroup.spark.coordination.watching import (
    COLUMNS,
    COMMIT,
    LOOK,
    RECORD,
    Piece,
    Watch,
)
from kgroup.spark.table import functions

_PART: Final = "part"
_LOOK: Final = "look"
_FILES: Final = 200
"""Files of one trigger and table, at most: so much is in memory at once."""
_SETTINGS: Final = {
    "spark.sql.files.ignoreMissingFiles": "true",  # a batch that was killed is written over
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def feed(spark: Any, folder: Path, claims: str = MARSHAL_TOPIC) -> Frame:  # noqa: ANN401
    """Return what alarms are told by, as a stream.

    Args:
        spark: the session.
        folder: of tables that grow: `--out` of `kgroup spark coordination --stream --alarms`.
        claims: topic of the log of claims.
    """
    f = functions()
    raw, commits, looks = (_grows(spark, folder, one) for one in (d.RAW, d.COMMIT_LOG, d.LOOKS))
    of_log = f.concat(f.lit("claims-"), f.col("log_partition"))
    of_topic = f.concat(f.lit("lag-"), f.col("topic"))
    of_look = f.when(
        f.col("topic") == claims, f.concat(f.lit("claims-"), f.col("partition"))
    ).otherwise(of_topic)
    ends = looks.select("batch", *COLUMNS[LOOK], of_look.alias(_PART))
    moves = commits.select("batch", *COLUMNS[COMMIT], of_topic.alias(_PART))
    records = raw.where(f.col("src") != OFFSETS_TOPIC).select(
        "batch", *COLUMNS[RECORD], of_log.alias(_PART)
    )
    kinds = ((RECORD, records), (COMMIT, moves), (LOOK, ends))
    frames = [frame.withColumn("order", f.lit(order)) for order, frame in kinds]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def _grows(spark: Any, folder: Path, table: Table) -> Frame:  # noqa: ANN401
    path = folder / table.name
    path.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream.schema(f"{ddl(table)}, batch int")
    return reader.option("maxFilesPerTrigger", _FILES).parquet(str(path))


def alarms(rows: Frame, limits: Limits | None = None) -> Frame:
    """Return rows of `alarm` as a stream; the session needs the state store of RocksDB.

    Args:
        rows: of `feed`.
        limits: when something is an alarm.
    """
    # Row by row through Spark's own values they would cost fifty times as much.
    packed = rows.mapInArrow(_packed, f"{_PART} string, batch int, order int, rows binary")
    return packed.groupBy(_PART).transformWithState(
        statefulProcessor=_processor(limits or Limits()),
        outputStructType=ddl(d.ALARM),
        outputMode="append",
        timeMode="None",
    )


def _packed(batches: Iterable[Any]) -> Iterator[Any]:
    """Return the rows of each part, job's batch and kind in a batch as one value."""
    import pyarrow as pa  # noqa: PLC0415 - optional
    from pyarrow import compute  # noqa: PLC0415 - optional

    names = [_PART, "batch", "order"]
    quickly = pa.ipc.IpcWriteOptions(compression="lz4")
    for batch in batches:
        whole = pa.Table.from_batches([batch])
        found = whole.select(names).group_by(names).aggregate([]).drop_null().to_pylist()
        for piece in found:
            same = (compute.equal(whole.column(name), piece[name]) for name in names)
            own = whole.filter(reduce(compute.and_, same)).select(COLUMNS[piece["order"]])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, own.schema, options=quickly) as stream:
                stream.write_table(own)
            piece["rows"] = sink.getvalue().to_pybytes()
        kinds = [pa.string(), pa.int32(), pa.int32(), pa.binary()]
        form = pa.schema(list(zip([*names, "rows"], kinds, strict=True)))
        yield pa.RecordBatch.from_pylist(found, form)


def _processor(limits: Limits) -> Any:  # noqa: ANN401 - pyspark's
    from pyspark.sql import Row as SparkRow  # noqa: PLC0415 - optional
    from pyspark.sql.streaming.stateful_processor import (  # noqa: PLC0415 - optional
        StatefulProcessor,
    )

    names = [name for name, _, _ in d.ALARM.columns]

    class Watching(StatefulProcessor):
        def init(self, handle: Any) -> None:  # noqa: ANN401 - pyspark's
            self._kept = handle.getValueState("watch", "data binary")

        def handleInputRows(self, _key: Any, rows: Iterator[Any], _: Any) -> Iterator[Any]:  # noqa: ANN401, N802
            kept = self._kept.get()
            # The state store is the query's own; nobody else writes there.
            watch = Watch() if kept is None else pickle.loads(bytes(kept[0]))  # noqa: S301
            pieces = (Piece(row["batch"], row["order"], bytes(row["rows"])) for row in rows)
            found = list(watch.take(pieces, limits))
            if watch.is_empty:
                self._kept.clear()
            else:
                self._kept.update((pickle.dumps(watch),))
            for row in found:
                yield SparkRow(**{name: row.get(name) for name in names})

        def close(self) -> None:
            return

    return Watching()


class Alarms:
    """A query that writes the table `alarm` beside a job that makes the others.

    Args:
        spark: the session.
        store: where the tables are.
        say: takes a line for each alarm.
        limits: when something is an alarm.
        claims: topic of the log of claims.
    """

    def __init__(
        self,
        spark: Any,  # noqa: ANN401 - pyspark's session
        store: Store,
        say: Callable[[str], None] = print,
        limits: Limits | None = None,
        claims: str = MARSHAL_TOPIC,
    ) -> None:
        self._spark = spark.newSession()
        self._folder = store.folder.resolve()
        self._say = say
        self._limits = limits
        self._claims = claims

    def start(self, *, once: bool = False) -> Any:  # noqa: ANN401 - pyspark's query
        """Start it; it goes on where it ended.

        Args:
            once: whether it ends when what is there has been looked at.
        """
        for name, value in _SETTINGS.items():
            self._spark.conf.set(name, value)
        told = alarms(feed(self._spark, self._folder, self._claims), self._limits)
        trigger = {"availableNow": True} if once else {"processingTime": "2 seconds"}
        return (
            told.writeStream.foreachBatch(self._write)
            .queryName("kgroup alarms")
            .option("checkpointLocation", str(self._folder / "_kgroup" / "alarms"))
            .trigger(**trigger)
            .start()
        )

    def _write(self, rows: Frame, number: int) -> None:
        """Write what one trigger told; a trigger that comes again writes it again, the same."""
        found = rows.toArrow().cast(arrow_schema(d.ALARM)).sort_by("ts")
        if not len(found):
            return
        write_file(found, self._folder / d.ALARM.name / f"{_LOOK}={number}")
        for row in found.to_pylist():
            self._say(line(row))


def line(row: Row) -> str:
    """Return an alarm as a person reads it."""
    place = f"{row['group']}: {row['topic']}-{row['partition']}"
    words = [f"ALARM {row['kind']}: {place}"]
    if row["client"] is not None:
        words.append(f"{row['client']} ({row['instance']})")
    if row["last_ts"] is not None:
        words.append(f"nothing for {(row['ts'] - row['last_ts']) / 1000:,.1f} s")
    if row["lag"] is not None:
        words.append(f"stands at {row['position']:,}, {row['lag']:,} behind")
    return ", ".join(words)
