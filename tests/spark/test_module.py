"""`pyspark_kgroup`: every session of Spark imports it, so it loads next to nothing."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

ADDED = """
import json, sys
import pyspark.sql.datasource, pyspark.sql.streaming.datasource
before = set(sys.modules)
import pyspark_kgroup
print(json.dumps(sorted(set(sys.modules) - before)))
"""

CHECKED = """
import sys
from kgroup.spark.connecting import check
from kgroup.spark.options import SourceOptions
check(SourceOptions.of({"kafka.bootstrap.servers": "a:1", "subscribe": "t"}, streaming=True))
print("kgroup.consumer" in sys.modules, "kgroup.sync" in sys.modules)
"""


def test_checking_options_loads_no_consumer() -> None:
    command = [sys.executable, "-c", CHECKED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_importing_the_module_loads_the_source_alone() -> None:
    pytest.importorskip("pyspark", reason="it needs the extra kgroup[spark]")
    command = [sys.executable, "-c", ADDED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {name.partition(".")[0]: name for name in json.loads(done.stdout)}
    foreign = names.keys() - sys.stdlib_module_names
    assert foreign == {"kgroup", "pyspark_kgroup"}
    rooms = {name for name in json.loads(done.stdout) if name.startswith("kgroup.")}
    assert rooms == {"kgroup.spark", "kgroup.spark.source"}
