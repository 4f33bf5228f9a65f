"""`kgroup spark coordination --stream` as a process of its own, beside a group that goes on."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from kgroup.sync import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.spark.ground import Reads, made, wait

pytestmark = [pytest.mark.spark, pytest.mark.real]

WORDS = (sys.executable, "-m", "kgroup.cli", "spark", "coordination", "--stream", "--trigger", "1")


def commit(reads: Reads, offset: int) -> None:
    with Consumer(bootstrap_servers=reads.kafka.bootstrap, group_id=reads.group) as one:
        one.assign([TopicPartition(reads.ground.topic, p) for p in range(3)])
        one.commit({TopicPartition(reads.ground.topic, p): offset for p in range(3)})


def told(folder: Path, column: str, group: str) -> set[Any]:
    """Return what a table says of a group; nothing while it is not there, or is being written."""
    try:
        found = dataset.dataset(folder, format="parquet", partitioning="hive")
        return set(
            found.to_table(filter=dataset.field("group") == group).column(column).to_pylist()
        )
    except OSError:
        return set()


def test_ctrl_c_makes_the_gold_that_was_not_due_and_ends_well(
    kafka: RealKafka, tmp_path: Path
) -> None:
    reads, out = made(None, kafka, tmp_path), tmp_path / "out"
    reads.fill(10)
    commit(reads, 3)
    words = (*WORDS, "--bootstrap", reads.kafka.bootstrap, "--out", str(out), "--gold-every", "900")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait(lambda: told(out / "status", "position", reads.group) == {3}, "the first gold")
            commit(reads, 5)
            wait(lambda: 5 in told(out / "commit_log", "offset", reads.group), "the next batch")
            assert told(out / "status", "position", reads.group) == {3}
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "commit_log" in said
    assert told(out / "status", "position", reads.group) == {5}
