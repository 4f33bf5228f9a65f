"""What a user would write: a streaming query from a topic to Parquet, as a member of a group.

`python -m tests.spark.matrix.program FOLDER BOOTSTRAP TOPIC GROUP SESSION MASTER`

Decides: that the query ends when there is a file `stop` in its folder, and that its own step on
each row waits while there is a file `hold`: it stands for a service that is slow to answer.
Never: handles an error of the query.
"""

import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[3]

TRIGGER: Final = "4 seconds"
_LOOK: Final = 0.3
_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query reads, and into which folder.

    Args:
        folder: for the sink and the checkpoint.
        bootstrap: of the brokers.
        topic: its name.
        group: its name.
        session: seconds after which a silent member is expelled.
    """

    folder: Path
    bootstrap: str
    topic: str
    group: str
    session: float = 30.0

    @property
    def sink(self) -> Path:
        return self.folder / "sink"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"


def environment() -> dict[str, str]:
    """Return what a Spark of this repository needs to find in its environment."""
    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def session(master: str, name: str) -> Any:
    """Return a session of Spark on this machine alone."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    os.environ.update(environment())
    builder = SparkSession.builder.master(master).appName(name)
    for option, value in {
        # A short life: the second compiler would cost more than it brings.
        "spark.driver.extraJavaOptions": _JVM,
        "spark.executor.extraJavaOptions": _JVM,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stopTimeout": "30000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(option, value)
    return builder.getOrCreate()


def start(spark: Any, reading: Reading, *, now: bool = False) -> Any:
    """Start the query, from its checkpoint if it has one.

    Args:
        spark: the session.
        reading: what it reads.
        now: whether it ends when it has read what is there.
    """
    orders = (
        spark.readStream.format("kgroup")
        .option("kafka.bootstrap.servers", reading.bootstrap)
        .option("kafka.group.id", reading.group)
        .option("kafka.session.timeout.ms", str(round(reading.session * 1000)))
        .option("subscribe", reading.topic)
        .option("startingOffsets", "earliest")
        .option("minPartitions", "4")
        .load()
    )
    trigger = {"availableNow": True} if now else {"processingTime": TRIGGER}
    return (
        orders.withColumn("handled", _step(str(reading.folder))("offset"))
        .writeStream.format("parquet")
        .option("path", str(reading.sink))
        .option("checkpointLocation", str(reading.checkpoint))
        .trigger(**trigger)
        .start()
    )


def _step(folder: str) -> Any:
    from pyspark.sql.functions import udf  # noqa: PLC0415 - an extra

    hold, in_hand = Path(folder, "hold"), Path(folder, "in-hand")

    def step(offset: int) -> int:
        # In a worker, where modules of the driver need not be.
        import time  # noqa: PLC0415

        while hold.exists():
            in_hand.touch()
            time.sleep(0.05)
        return offset

    return udf(step, "bigint", useArrow=False)


def _end_with_the_tool() -> None:
    """Wait until whoever started this is gone; Spark goes with its program."""
    sys.stdin.read()
    os._exit(1)


def main(words: list[str]) -> None:
    folder, bootstrap, topic, group, seconds, master = words
    reading = Reading(Path(folder), bootstrap, topic, group, float(seconds))
    threading.Thread(target=_end_with_the_tool, daemon=True).start()
    spark = session(master, f"matrix {group}")
    query = start(spark, reading)
    while not query.awaitTermination(_LOOK):
        if (reading.folder / "stop").exists():
            query.stop()
            break
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
