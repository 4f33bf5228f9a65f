"""A program as a user of Spark writes it: a topic to Parquet, as a member of a group.

It says nothing about where it runs. It prints what it has seen, as JSON.
"""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf


def home(_partition: int) -> str:
    """Return where an executor has kgroup from."""
    import kgroup  # noqa: PLC0415 - the program itself does without

    return str(kgroup.__file__)


def main(bootstrap: str, topic: str, group: str, folder: str, sent: str = "") -> None:
    """Read the topic as a stream, then as a batch."""
    spark = SparkSession.builder.appName("orders").getOrCreate()
    if sent:
        # Spark looks for sources where packages are installed, not in what is sent along.
        from pyspark_kgroup import DefaultSource  # noqa: PLC0415

        spark.dataSource.register(DefaultSource)
    kafka = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    batch = spark.read.format("kgroup").options(**kafka).load()
    orders = (
        spark.readStream.format("kgroup")
        .options(**kafka)
        .option("kafka.group.id", group)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        orders.writeStream.format("parquet")
        .option("path", f"{folder}/sink")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    columns = "partition int, offset bigint"
    sunk = spark.read.schema(columns).parquet(f"{folder}/sink").collect()
    homes = batch.select(udf(home, "string")("partition")).collect()
    seen = {
        "sunk": [[row[0], row[1]] for row in sunk],
        "homes": [row[0] for row in homes],
    }
    print(json.dumps(seen))  # noqa: T201 - for the test
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
