"""A topic, a program that reads it, and what is asked about them.

Decides: where the topic's leaders are. Of three brokers the group's coordinator leads none of its
partitions, so that each of both can be struck alone.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import anyio
from confluent_kafka import KafkaException

from kgroup.errors import KGroupError
from kgroup.testing.kafka import RealKafka
from tests.real.ground import coordinator_of, describe, fresh, lay_ground
from tests.spark.matrix.cells import Cell, Victim
from tests.spark.matrix.members import Plain, Writer
from tests.spark.matrix.processes import Program
from tests.spark.matrix.program import Reading
from tests.spark.matrix.sunk import Checkpoint, Seen, Sink
from tests.spark.matrix.watch import Commits, Watch

Facts = dict[str, Any]

PARTITIONS: Final = 4
PATIENCE: Final = 120.0
"""Longest wait for anything; a loaded machine is no finding."""

_LOOK: Final = 0.1
_EVERY: Final = 0.05
_SHORT: Final = 8.0
"""Session of a reader that is killed: others wait for it to run out."""

SLOW: Final = "failed to connect back"
"""What Spark says where the machine was too slow for it."""
_STARTS: Final = 4

UNANSWERED: Final = (AssertionError, KafkaException, KGroupError, TimeoutError)
"""What asking about a group raises while brokers are down."""


class SceneError(Exception):
    """It does not come to what is to be judged; it says why."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What all cells have in common.

    Args:
        kafka: the brokers.
        spark: the session that drains and judges; no cell strikes it.
        folder: for a folder of each cell.
    """

    kafka: RealKafka
    spark: Any
    folder: Path


class Scene:
    """One cell's topic, group and program.

    Args:
        stage: where it is played.
        cell: which one.
        random: chance.
    """

    def __init__(self, stage: Stage, cell: Cell, random: Random) -> None:
        self.kafka, self.spark = stage.kafka, stage.spark
        self.cell, self.random = cell, random
        self.group = fresh("matrix")
        self.ground = anyio.run(
            partial(lay_ground, stage.kafka, PARTITIONS, replicas=replicas(stage.kafka, self.group))
        )
        self.folder = stage.folder / self.group
        session = _SHORT if cell.victim is Victim.READER else 30.0
        self.reading = Reading(
            self.folder, stage.kafka.bootstrap, self.ground.topic, self.group, session
        )
        self.program = Program(self.reading, self.group)
        self.writer = Writer(self.ground, each=random.randint(1, 8), every=_EVERY)
        self.sink = Sink(self.reading.sink)
        self.checkpoint = Checkpoint(self.reading.checkpoint, self.ground.topic)
        self.handled = Seen()
        self.plain: Plain | None = None
        self.starts = 0
        self.committed = Commits(stage.kafka.bootstrap, self.group)
        self.watch = Watch(self.committed, lambda: (self.sink.seen(), self.handled))

    def begin(self) -> None:
        """Start all, and wait until the query has committed a batch."""
        self.writer.start()
        while not self._has_begun():
            self.program.end()
        self.watch.start()
        self.until(self._has_committed, "a batch is committed")

    def _has_begun(self) -> bool:
        """Start the program; tell whether it has come to a batch.

        Spark gives a process of Python ten seconds to start, which a loaded machine may not have.
        """
        self.starts += 1
        self.program.start(self.cell.master)
        first = "the first batch is in the sink"
        try:
            self.until(lambda: self.sink.last() >= 0, first, within=2 * PATIENCE)
        except SceneError:
            if self.starts == _STARTS or not self.program.told(SLOW):
                raise
            return False
        return True

    def end_program(self) -> None:
        """End what is left of the program, and write and look no more."""
        self.writer.finish()
        if self.plain is not None:
            self.plain.leave()
        self.watch.finish()
        self.program.end()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- the hold --------------------------------------------------------------------------

    def hold(self) -> None:
        """Have the batch that runs, or the next one, wait; return when tasks have rows of it."""
        (self.folder / "in-hand").unlink(missing_ok=True)
        (self.folder / "hold").touch()
        self.until((self.folder / "in-hand").exists, "tasks have rows in hand")

    def release(self) -> None:
        (self.folder / "hold").unlink(missing_ok=True)

    # -- what is asked ---------------------------------------------------------------------

    def behind(self, batch: int) -> int:
        """Return how many records of a batch, and of those before, are not committed."""
        committed = self.committed()
        spans = self.checkpoint.spans(batch)
        return sum(max(0, end - committed.get(p, 0)) for p, (_, end) in spans.items())

    def _has_committed(self) -> bool:
        try:
            return any(self.committed().values())
        except UNANSWERED:
            return False

    def has_no_lag(self) -> bool:
        """Tell whether everything that was written is committed."""
        try:
            return self.committed() == self.ground.sent
        except UNANSWERED:
            return False

    def members(self) -> int:
        """Return how many members the group has, -1 while nobody says."""
        try:
            return len(describe(self.kafka, self.group).members)
        except UNANSWERED:
            return -1

    def until(
        self,
        is_so: Callable[[], object],
        what: str,
        *,
        within: float = PATIENCE,
        runs: bool = True,
    ) -> float:
        """Wait until something holds; return the seconds it took.

        Args:
            is_so: looked at again and again.
            what: in words.
            within: longest wait, seconds.
            runs: whether it is in vain when the program has ended.

        Raises:
            SceneError: it was in vain.
        """
        began = time.monotonic()
        while not is_so():
            if runs and not self.program.runs:
                told = " | ".join(self.program.last_lines())
                raise SceneError(f"the program has ended before {what}: {told}")
            if time.monotonic() - began > within:
                raise SceneError(f"waited {within:g} s in vain until {what}")
            time.sleep(_LOOK)
        return round(time.monotonic() - began, 1)


def replicas(kafka: RealKafka, group: str) -> list[list[int]] | None:
    """Return who keeps each partition, its leader first; None on one broker."""
    if len(kafka.nodes) == 1:
        return None
    coordinator = coordinator_of(kafka, group)
    others = [node for node in kafka.nodes if node != coordinator]
    return [
        [others[number % 2], others[(number + 1) % 2], coordinator] for number in range(PARTITIONS)
    ]
