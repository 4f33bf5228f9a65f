"""The order in which Spark calls a source: what `kgroup.spark.source` stands on.

A new Spark that calls in another order fails here first, and is named. `make test-spark` runs this
on the newest that is locked, `make test-spark-oldest` on the oldest that is supported.
"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgroup.spark.options import SourceOptions
from kgroup.testing import InProcessBroker

pytestmark = pytest.mark.spark

PASSED_ON = ("4.2.0", "4.3.0")
"""The oldest and the newest Spark that call in this order."""

FIRST_RUN = [
    "getDefaultReadLimit",
    "initialOffset",
    "latestOffset 0",
    "reportLatestOffset",
    "initialOffset",
    "partitions 0 1",
    "read",
    "latestOffset 1",
    "reportLatestOffset",
]
SECOND_RUN = [
    "getDefaultReadLimit",
    "latestOffset 1",
    "reportLatestOffset",
    "commit 1",
    "partitions 1 2",
    "read",
    "latestOffset 2",
    "reportLatestOffset",
]


def run(spark: Any, folder: Path, end: int) -> list[str]:
    """Run a query until it has read what is there; return the calls."""
    log = folder / f"calls-{end}"
    from pyspark import cloudpickle  # noqa: PLC0415 - an extra

    from tests.spark import noting  # noqa: PLC0415 - it needs pyspark

    # The processes of Spark do not know this folder.
    cloudpickle.register_pickle_by_value(noting)
    spark.dataSource.register(noting.Noting)
    query = (
        spark.readStream.format("noting")
        .option("end", end)
        .option("log", str(log))
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    return log.read_text(encoding="utf-8").splitlines()


def test_calls_come_in_the_order_that_the_source_stands_on(spark: Any, tmp_path: Path) -> None:
    prepared = "prepareForTriggerAvailableNow"
    first, second = run(spark, tmp_path, 1), run(spark, tmp_path, 2)
    told = (
        f"SPARK {spark.version} CALLS A SOURCE DIFFERENTLY. {' and '.join(PASSED_ON)} call in the "
        "order that kgroup.spark.source and kgroup.spark.query stand on: go through both, then "
        "change this order"
    )
    assert [call for call in first if call != prepared] == FIRST_RUN, told
    assert [call for call in second if call != prepared] == SECOND_RUN, told
    assert first[0] == second[0] == prepared, told


def test_an_offset_in_the_checkpoint_is_the_text_that_the_source_gave(
    spark: Any, tmp_path: Path
) -> None:
    run(spark, tmp_path, 1)
    (line,) = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[2:]
    assert json.loads(line) == {"n": 1}


@pytest.fixture
def signals() -> Iterator[None]:
    """A reader hears the signal by which Spark ends it."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("signals")
@pytest.mark.kgroup_broker(topics={"t": 1})
@pytest.mark.parametrize(("confirms", "warnings"), [(True, 0), (False, 1)])
def test_a_source_whose_batches_are_never_confirmed_warns_once(
    kgroup_broker: InProcessBroker,
    caplog: pytest.LogCaptureFixture,
    confirms: bool,
    warnings: int,
) -> None:
    from pyspark.sql.streaming.datasource import ReadMaxRows  # noqa: PLC0415 - an extra

    from kgroup.spark.source import StreamReader  # noqa: PLC0415 - it needs pyspark

    options = {
        "kafka.bootstrap.servers": kgroup_broker.bootstrap_servers,
        "subscribe": "t",
        "startingOffsets": "earliest",
    }
    reader = StreamReader(SourceOptions.of(options, streaming=True))
    start = reader.initialOffset()
    for _ in range(8):
        kgroup_broker.partition("t", 0).append("x")
        end = reader.latestOffset(start, ReadMaxRows(10))
        if confirms:
            reader.commit(start)
        reader.partitions(start, end)
        start = end
    reader.stop()
    assert caplog.text.count("asyncProgressTrackingEnabled") == warnings
