"""Three cells of the matrix of faults: a process ends by SIGKILL, nothing is lost or doubled.

`python -m tests.spark.matrix` plays all of them.
"""

from pathlib import Path
from typing import Any

import pytest

from kgroup.testing.kafka import RealKafka
from tests.spark.matrix.cells import chosen
from tests.spark.matrix.play import play
from tests.spark.matrix.scene import Stage

pytestmark = [
    pytest.mark.spark,
    pytest.mark.real,
    pytest.mark.no_stand_in("processes are killed"),
]

SEED = 1


def problems(name: str, spark: Any, kafka: RealKafka, folder: Path) -> list[str]:
    (cell,) = chosen([name])
    line = play(Stage(kafka, spark, folder), cell, SEED)
    assert line["problems"] or line["fault"]["gone"]
    return list(line["problems"])


@pytest.mark.parametrize("cell", ["reader/mid-batch/one", "program/between/one"])
def test_a_query_that_was_ended_goes_on_from_its_checkpoint(
    cell: str, spark: Any, kafka: RealKafka, tmp_path: Path
) -> None:
    assert problems(cell, spark, kafka, tmp_path) == []


def test_a_query_and_a_joiner_go_on_when_their_coordinator_dies_amid_a_rebalance(
    spark: Any, kafka_cluster: RealKafka, tmp_path: Path
) -> None:
    cell = "coordinator/mid-rebalance/three"
    assert problems(cell, spark, kafka_cluster, tmp_path) == []
