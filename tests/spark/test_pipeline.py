"""The tables as a declarative pipeline: the example runs, and makes what the command makes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import dataset

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.store import write_file
from kgroup.spark.coordination.tables import arrow_of
from tests.spark.coordinator import claims_of, groups_of, recorded, scenario, silver_of
from tests.spark.sites import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.long]

PATIENCE = 200.0
EXAMPLE = ROOT / "docs" / "examples" / "pipeline"


def plain(table: Table, rows: list[Row]) -> list[str]:
    return sorted(repr([row.get(name) for name, _, _ in table.columns]) for row in rows)


def test_the_example_makes_each_table(tmp_path: Path) -> None:
    claims = scenario("s04_reclaim")
    records = [*recorded(), *claims]
    write_file(arrow_of(d.RAW, [each._asdict() for each in records]), tmp_path / "raw")
    copy = shutil.copytree(EXAMPLE, tmp_path / "example")
    spec = copy / "spark-pipeline.yml"
    text = spec.read_text().replace("/tmp/groups-pipeline", str(tmp_path / "storage"))
    spec.write_text(text.replace("/tmp/groups/raw", str(tmp_path / "raw")))
    command = [str(Path(sys.executable).with_name("spark-pipelines")), "run", "--spec", str(spec)]
    here = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **here},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    silver = silver_of(records)
    gold = groups_of(silver)
    right = silver | {name: rows + gold[name] for name, rows in claims_of(claims).items()}
    for table in (*d.SILVER, *d.GOLD):
        path = tmp_path / "spark-warehouse" / table.name
        found = dataset.dataset(path, format="parquet").to_table().to_pylist()
        assert plain(table, found) == plain(table, right[table.name]), table.name
