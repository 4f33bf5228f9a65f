"""The order in which Spark calls a source: what `kgroup.spark.source` stands on.

A new Spark that calls in another order fails here first.
"""

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

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


def source(log: Path) -> Any:  # noqa: C901 - one class that Spark pickles by value
    """Return a data source that notes each call; it has one row more in each run."""
    from pyspark.sql.datasource import (  # noqa: PLC0415 - an extra
        DataSource,
        DataSourceStreamReader,
        InputPartition,
    )
    from pyspark.sql.streaming.datasource import (  # noqa: PLC0415
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    path = str(log)

    def note(*words: object) -> None:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - it is pickled
            file.write(" ".join(map(str, words)) + "\n")

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
        def __init__(self, end: int) -> None:
            self.end = end

        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            note("initialOffset")
            return {"n": 0}

        def getDefaultReadLimit(self) -> Any:  # noqa: N802
            note("getDefaultReadLimit")
            return ReadMaxRows(10)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            note("prepareForTriggerAvailableNow")

        def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
            assert isinstance(limit, ReadMaxRows)
            note("latestOffset", start["n"])
            return start if start["n"] == self.end else {"n": self.end}

        def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
            note("reportLatestOffset")
            return {"n": self.end}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Any]:
            note("partitions", start["n"], end["n"])
            return [InputPartition(end["n"])]

        def read(self, partition: Any) -> Any:
            note("read")
            yield (partition.value,)

        def commit(self, end: dict[str, int]) -> None:
            note("commit", end["n"])

    class Noting(DataSource):
        @classmethod
        def name(cls) -> str:
            return "noting"

        def schema(self) -> str:
            return "n int"

        def streamReader(self, schema: object) -> Any:  # noqa: N802
            return Reader(int(self.options["end"]))

    return Noting


def run(spark: Any, folder: Path, end: int) -> list[str]:
    """Run a query until it has read what is there; return the calls."""
    log = folder / f"calls-{end}"
    spark.dataSource.register(source(log))
    query = (
        spark.readStream.format("noting")
        .option("end", end)
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
    assert [call for call in first if call != prepared] == FIRST_RUN
    assert [call for call in second if call != prepared] == SECOND_RUN
    assert first[0] == second[0] == prepared


def test_an_offset_in_the_checkpoint_is_the_text_that_the_source_gave(
    spark: Any, tmp_path: Path
) -> None:
    run(spark, tmp_path, 1)
    (line,) = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[2:]
    assert json.loads(line) == {"n": 1}
