"""`kgroup spark coordination --stream` as a process of its own, beside a group that goes on."""

import json
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


def told(folder: Path, columns: list[str], group: str) -> list[tuple[Any, ...]]:
    """Return what a table says of a group; nothing while it is not there, or is being written."""
    try:
        found = dataset.dataset(folder, format="parquet", partitioning="hive")
        rows = found.to_table(columns, filter=dataset.field("group") == group).to_pylist()
    except OSError:
        return []
    return [tuple(row.values()) for row in rows]


def positions(out: Path, group: str) -> set[Any]:
    return {position for (position,) in told(out / "status", ["position"], group)}


def done(out: Path, offset: int, group: str) -> bool:
    """Tell whether a commit is in a batch that is done: Ctrl-C leaves the one that is not."""
    commits = told(out / "commit_log", ["offset", "batch"], group)
    last = json.loads((out / "_kgroup" / "progress.json").read_text())["batch"]
    return any(found == offset and batch <= last for found, batch in commits)


def test_ctrl_c_makes_the_gold_that_was_not_due_and_ends_well(
    kafka: RealKafka, tmp_path: Path
) -> None:
    reads, out = made(None, kafka, tmp_path), tmp_path / "out"
    reads.fill(10)
    commit(reads, 3)
    words = (*WORDS, "--bootstrap", reads.kafka.bootstrap, "--out", str(out), "--gold-every", "900")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait(lambda: positions(out, reads.group) == {3}, "the first gold")
            commit(reads, 5)
            wait(lambda: done(out, 5, reads.group), "the next batch")
            assert positions(out, reads.group) == {3}
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "commit_log" in said
    assert positions(out, reads.group) == {5}
