"""A Spark with both sources, and what a piece of work costs it.

Decides: that CPU counts in all processes of the session, the JVM's and the Python workers', and not
in the broker's; that both sources read the same topic from the same brokers.
Never: installs a connector: Spark resolves it, or there is none and the report says so.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
"""The newest that resolves; it runs on Spark 4.2 and 4.3."""
SOURCES: Final = ("kafka", "kgroup")
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took.

    Args:
        seconds: by the clock.
        cpu: seconds of all processes of the session.
        received: bytes from the brokers, by connections that are still open; None where `ss` is
            missing.
        peaks: kind of process -> megabytes of the largest, since it was started.
    """

    seconds: float
    cpu: float
    received: int | None
    peaks: dict[str, float]


class Session:
    """A warm session.

    Args:
        cores: how many tasks run at once.
        bootstrap: the brokers.
        connector: whether Spark's own source is to be resolved.
    """

    def __init__(self, cores: int, bootstrap: str, *, connector: bool) -> None:
        self._ports = [each.rpartition(":")[2] for each in bootstrap.split(",")]
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = SparkSession.builder.master(f"local[{cores}]").appName("kgroup-benchmark")
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.log.level": "ERROR",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        if connector:
            settings["spark.jars.packages"] = CONNECTOR
        for name, value in settings.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()

    def frame(self, source: str, bootstrap: str, topic: str) -> DataFrame:
        """Return a batch read of a whole topic."""
        reader = self.spark.read.format(source).option("kafka.bootstrap.servers", bootstrap)
        return reader.option("subscribe", topic).load()

    def fingerprint(self, source: str, bootstrap: str, topic: str) -> tuple[int, int]:
        """Return the number of rows, and a sum of hashes over all columns of all rows."""
        hashed = f.xxhash64(*_COLUMNS).cast("decimal(38,0)")
        frame = self.frame(source, bootstrap, topic).select(hashed.alias("hash"))
        (row,) = frame.agg(f.count("hash"), f.sum("hash")).collect()
        return row[0], int(row[1])

    def to_noop(self, source: str, bootstrap: str, topic: str) -> None:
        """Read a topic, and throw it away."""
        self.frame(source, bootstrap, topic).write.format("noop").mode("overwrite").save()

    def to_parquet(self, source: str, bootstrap: str, topic: str) -> None:
        """Read a topic into files."""
        with folder() as path:
            self.frame(source, bootstrap, topic).write.parquet(str(path / "table"))

    def stream(self, source: str, bootstrap: str, topic: str, rows: int) -> list[float]:
        """Read a topic in micro-batches; return the milliseconds of each.

        Args:
            source: kafka or kgroup.
            bootstrap: the brokers.
            topic: its name.
            rows: of one batch.
        """
        options = {"maxOffsetsPerTrigger": str(rows)}
        if source == "kgroup":
            options["kafka.group.id"] = f"bench-{time.time_ns()}"
        frame = self.streaming(source, bootstrap, topic, **options)
        with folder() as path:
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", str(path))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            found = [each for each in query.recentProgress if each.numInputRows]
        return [float(each.batchDuration) for each in found]

    def streaming(self, source: str, bootstrap: str, topic: str, **options: str) -> DataFrame:
        """Return a streaming read of a topic from its beginning."""
        reader = self.spark.readStream.format(source).option("kafka.bootstrap.servers", bootstrap)
        reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
        return reader.options(**options).load()

    def cost(self, work: Any) -> Cost:  # noqa: ANN401 - a function without arguments
        """Do some work, and return what it took."""
        received, before, began = self._received(), _cpu(), time.monotonic()
        work()
        seconds, cpu = time.monotonic() - began, _cpu() - before
        after = self._received()
        fresh = None
        if after is not None and received is not None:
            fresh = sum(count - received.get(each, 0) for each, count in after.items())
        return Cost(round(seconds, 3), round(cpu, 2), fresh, _peaks())

    def _received(self) -> dict[str, int] | None:
        """Return connection to a broker -> bytes it has received."""
        if shutil.which("ss") is None:
            return None
        ports = " or ".join(f"dport = :{port}" for port in self._ports)
        command = ["ss", "-tinHO", "state", "established", f"( {ports} )"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found: dict[str, int] = {}
        for line in lines.splitlines():
            count = re.search(r"bytes_received:(\d+)", line)
            found[line.split()[2]] = int(count[1]) if count else 0
        return found

    def close(self) -> None:
        """End the session."""
        self.spark.stop()


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder for one block."""
    path = Path(tempfile.mkdtemp(prefix="kgroup-spark-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _family() -> Iterator[int]:
    """Yield this process and all below it: the JVM, and the Python workers of the JVM."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    mine = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    yield from mine


def _cpu() -> float:
    """Return the CPU seconds of the session's processes, ended children included."""
    total = 0
    for pid in _family():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def _peaks() -> dict[str, float]:
    """Return kind of process (program, java, a Python module) -> megabytes of the largest."""
    found: dict[str, float] = {}
    for pid in _family():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        peak = int(lines.get("VmHWM", "0 kB").split()[0]) / 1024
        kind = words[words.index("-m") + 1] if "-m" in words[:3] else Path(words[0]).name
        kind = "program" if pid == os.getpid() else kind or "other"
        found[kind] = max(found.get(kind, 0.0), round(peak, 1))
    return found
