"""A data source that notes each call; it has one row more in each run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

Offset = dict[str, int]


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Has a row for each number up to its end.

    Args:
        log: file of calls.
        end: the last number.
    """

    def __init__(self, log: str, end: int) -> None:
        self.log = log
        self.end = end

    def note(self, *words: object) -> None:
        with Path(self.log).open("a", encoding="utf-8") as file:
            file.write(" ".join(map(str, words)) + "\n")

    def initialOffset(self) -> Offset:  # noqa: N802
        self.note("initialOffset")
        return {"n": 0}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        self.note("getDefaultReadLimit")
        return ReadMaxRows(10)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.note("prepareForTriggerAvailableNow")

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802
        assert isinstance(limit, ReadMaxRows)
        self.note("latestOffset", start["n"])
        return start if start["n"] == self.end else {"n": self.end}

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        self.note("reportLatestOffset")
        return {"n": self.end}

    def partitions(self, start: Offset, end: Offset) -> list[Any]:
        self.note("partitions", start["n"], end["n"])
        return [InputPartition(end["n"])]

    def read(self, partition: Any) -> Iterator[tuple[int]]:
        self.note("read")
        yield (partition.value,)

    def commit(self, end: Offset) -> None:
        self.note("commit", end["n"])


class Noting(DataSource):
    """`format("noting")`."""

    @classmethod
    def name(cls) -> str:
        return "noting"

    def schema(self) -> str:
        return "n int"

    def streamReader(self, schema: object) -> Reader:  # noqa: N802
        return Reader(self.options["log"], int(self.options["end"]))
