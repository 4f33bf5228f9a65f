"""What Spark is given: the data source, its readers, and the order of their calls.

Decides: what each call of Spark means for a `Query`, and that a member leaves its group when Spark
ends the reader's process by a signal.
Never: loads the consumer, Arrow or numpy on import: every session imports this module.
Source: pyspark.sql.datasource, from 4.2 on.

A streaming query calls, in its reader's process: `initialOffset`; at each trigger `latestOffset`,
whose `start` is in the sink; `partitions` when there is a batch. A batch that is run again after a
restart calls `partitions` first. `commit` comes too late to be of use, and `stop` seldom.
"""

import logging
import os
import signal
import time
import uuid
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from kgroup.spark.options import SourceOptions
    from kgroup.spark.planning import Range
    from kgroup.spark.query import Query

log = logging.getLogger(__name__)

_SCHEMA: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int"
)
_HEADERS: Final = ", headers array<struct<key: string, value: binary>>"
_FENCE: Final = ", fence bigint"
_UNBOUNDED: Final = 2**62
_UNCONFIRMED: Final = 3
"""Batches without a word of Spark's, after which it will not come."""


class Task(InputPartition):
    """What one task reads.

    Args:
        ranges: of one or more partitions.
    """

    def __init__(self, ranges: "tuple[Range, ...]") -> None:
        super().__init__(ranges)
        self.ranges = ranges


class KGroupSource(DataSource):
    """`format("kgroup")`: Kafka topics, for batch and streaming reads.

    `kgroup.spark.options` has its options.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kgroup"

    def schema(self) -> str:
        """Return the columns of Spark's own Kafka source, and `fence` if asked for."""
        headers, fence = (
            self.options.get(name, "false").lower() == "true"
            for name in ("includeHeaders", "includeFence")
        )
        return _SCHEMA + _HEADERS * headers + _FENCE * fence

    def reader(self, schema: object) -> "BatchReader":  # noqa: ARG002 - Spark passes it by name
        """Return the reader of a batch read.

        Raises:
            ConfigError: an option is unknown or cannot be used.
        """
        options = _options(self.options, streaming=False)
        return PushingReader(options) if options.pushes_down else BatchReader(options)

    def streamReader(self, schema: object) -> "StreamReader":  # noqa: ARG002, N802
        """Return the reader of a streaming query.

        Raises:
            ConfigError: an option is unknown or cannot be used.
        """
        return StreamReader(_options(self.options, streaming=True))


def _options(given: MutableMapping[str, str], *, streaming: bool) -> "SourceOptions":
    from kgroup.spark.connecting import check  # noqa: PLC0415
    from kgroup.spark.options import SourceOptions  # noqa: PLC0415 - see the module

    options = SourceOptions.of(dict(given), streaming=streaming)
    check(options)
    return options


class BatchReader(DataSourceReader):
    """Reads a topic as it is now; joins no group.

    Args:
        options: of the read.
    """

    def __init__(self, options: "SourceOptions") -> None:
        self._options = options
        self._filters: list[Filter] = []

    def partitions(self) -> Sequence[InputPartition]:
        """Return one part for each task.

        Raises:
            ConfigError, TimeoutError, KGroupError: the cluster could not be asked.
        """
        from kgroup.spark.batch import ranges  # noqa: PLC0415 - see the module
        from kgroup.spark.filters import narrowing  # noqa: PLC0415

        return [Task(each) for each in ranges(self._options, narrowing(self._filters))]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the records of a part; on an executor.

        Raises:
            RangeError, KGroupError: they cannot be read.
        """
        return _read(self._options, partition)


class PushingReader(BatchReader):
    """Takes filters, too; Spark refuses a reader that can where push-down is switched off."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Narrow what is fetched; Spark applies all of the filters again."""
        self._filters = filters
        return filters


class _Confirmations:
    """Notices that Spark never confirms a batch: that is asynchronous progress tracking.

    `commit` comes while the next batch is built, so it is a batch late. A reader is not told the
    options of its sink.
    """

    def __init__(self) -> None:
        self._batch: int | None = None
        self._moves = 0
        self._done = False

    def confirm(self) -> None:
        """Note that Spark confirms batches."""
        self._done = True

    def note(self, batch: int) -> None:
        """Note which batch is in the sink; warn once."""
        if self._batch is not None and batch != self._batch:
            self._moves += 1
        self._batch = batch
        if self._moves == _UNCONFIRMED and not self._done:
            self._done = True
            log.warning(
                "Spark writes the checkpoint of this query asynchronously "
                "(asyncProgressTrackingEnabled): a restart may repeat several batches; what is in "
                "the sink is committed to the group all the same"
            )


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics batch by batch, as a member of a group if one is named.

    Args:
        options: of the query.
    """

    def __init__(self, options: "SourceOptions") -> None:
        self._options = options
        self._query: Query | None = None
        self._id = uuid.uuid4().hex
        self._available = False
        self._confirmations = _Confirmations()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives in the reader's process: tasks get a copy."""
        return {**self.__dict__, "_query": None}

    def _running(self) -> "Query":
        from kgroup.spark.query import Query  # noqa: PLC0415 - see the module

        if self._query is None:
            self._query = Query(self._options)
            signal.signal(signal.SIGTERM, self._terminated)
        return self._query

    def _terminated(self, number: int, _frame: object) -> None:
        """Leave the group, then end as the signal asks: it comes twice within milliseconds."""
        signal.signal(number, signal.SIG_IGN)
        self.stop()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # -- calls of Spark --------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first batch; asked twice, answered alike."""
        return self._running().initial(self._id).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return `maxOffsetsPerTrigger`; "all there is" would hide `Trigger.Once`."""
        return ReadMaxRows(self._options.most_rows or _UNBOUNDED)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Read what is there at the next call of `latestOffset`, and no more."""
        self._available = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Commit what is in the sink, and return the end of the next batch, or `start`.

        Raises:
            ConfigError: the trigger is Once, which cannot commit what it reads.
            GroupError, CheckpointError, DataLossError, KGroupError: see `Query.advance`.
        """
        from kgroup.errors import ConfigError  # noqa: PLC0415 - see the module
        from kgroup.spark.offsets import StreamOffset  # noqa: PLC0415

        if isinstance(limit, ReadAllAvailable) and not self._available:
            expected = "trigger(availableNow=True), which commits what it reads"
            raise ConfigError("trigger", "once", expected)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        before = StreamOffset.from_json(start)
        self._confirmations.note(before.batch)
        end = self._running().advance(before, most, now=time.monotonic(), available=self._available)
        return start if end is None else end.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the ends of the logs as `latestOffset` found them."""
        if self._query is None:
            return None
        latest: dict[str, dict[str, int]] = {}
        for tp, end in sorted(self._query.latest.items()):
            latest.setdefault(tp.topic, {})[str(tp.partition)] = end
        return latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        """Return one part for each task of a batch; all of it stands in `end`."""
        from kgroup.spark.offsets import StreamOffset  # noqa: PLC0415 - see the module
        from kgroup.spark.planning import tasks  # noqa: PLC0415

        batch = StreamOffset.from_json(end)
        self._running().begin_batch(batch)
        least = self._options.partitions_at_least
        return [Task(each) for each in tasks(batch.spans, least, batch.fences)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """Yield the records of a part; on an executor.

        Raises:
            RangeError, KGroupError: they cannot be read.
        """
        return _read(self._options, partition)

    def commit(self, end: dict[str, Any]) -> None:  # noqa: ARG002 - Spark's order of arguments
        """Note that Spark confirms batches; `latestOffset` has committed this one."""
        self._confirmations.confirm()

    def stop(self) -> None:
        """Leave the group."""
        if self._query is not None:
            self._query.close()


def _read(options: "SourceOptions", partition: InputPartition) -> "Iterator[pa.RecordBatch]":
    from kgroup.spark.reading import read  # noqa: PLC0415 - Arrow is not loaded on the driver

    if isinstance(partition, Task):
        yield from read(options, partition.ranges)
