"""What groups did, as tables of a declarative pipeline (`spark-pipelines`).

Each table of `kgroup spark coordination` is a function from data frames to a data frame, so that
the pipeline only says which is made of which. `kgroup spark coordination` also goes on where it
ended; this makes all anew each time.
"""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from kgroup.spark.coordination import declared, tables
from kgroup.spark.coordination.schema import Table

spark = SparkSession.active()


@dp.materialized_view
def raw() -> DataFrame:
    bootstrap = spark.conf.get("groups.bootstrap")
    if bootstrap:
        return tables.read(spark, {"kafka.bootstrap.servers": bootstrap})
    names = [name for name, _, _ in declared.RAW.columns]
    return spark.read.parquet(spark.conf.get("groups.raw")).select(*names)


@dp.materialized_view
def read_records() -> DataFrame:
    """Rows of all silver tables."""
    return tables.decoded(spark.read.table("raw"))


@dp.materialized_view
def history_of_groups() -> DataFrame:
    """Rows of all gold tables."""
    made_of = (declared.RAW, *declared.SILVER)
    return tables.gold({table.name: spark.read.table(table.name) for table in made_of})


def define(table: Table, whole: str) -> None:
    @dp.materialized_view(name=table.name, comment=table.about)
    def one() -> DataFrame:
        return tables.part(spark.read.table(whole), table)


for each in declared.SILVER:
    define(each, "read_records")
for each in declared.GOLD:
    define(each, "history_of_groups")
