"""A Spark for the tests of this folder: one session in this process, on two cores."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import REQUIRE_REAL


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session that may try a task four times."""
    if not REQUIRE_REAL:
        pytest.importorskip("pyspark", reason="it needs the extra kgroup[spark]")
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2,4]").appName("kgroup-tests")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stopTimeout": "30000",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
