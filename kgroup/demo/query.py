"""A Spark query as a member of the demo's group: it writes Parquet, and loses an executor.

Decides: that the demo's board shows it by its event log, as its members by what they say; what is
an executor of this Spark.
Never: reads the table that it writes.
"""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from kgroup.demo.board import Board, Status
from kgroup.demo.crew import MemberFailedError
from kgroup.demo.runner import Setting
from kgroup.demo.scenario import Stage
from kgroup.errors import UnsupportedError
from kgroup.journal import (
    Done,
    Event,
    GenerationEntered,
    OffsetRead,
    OwnershipStep,
    Phase,
    StateChanged,
)
from kgroup.journal.codec import decode_entry
from kgroup.types import ChangeKind, MemberState

LABEL: Final = "query"
"""Its name in views and logs."""

_LOOK: Final = 0.25
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"


class Heard:
    """What a member's event log says of it."""

    def __init__(self) -> None:
        self._state = MemberState.JOINING
        self._generation: int | None = None
        self._leader = False
        self._owned: set[int] = set()
        self._positions: dict[int, int] = {}

    def hear(self, event: Event) -> None:
        """Take in one event, in order."""
        match event:
            case StateChanged():
                self._state = event.after
            case GenerationEntered():
                self._generation, self._leader = event.generation_id, event.leader
            case OwnershipStep(kind=ChangeKind.ASSIGNED, phase=Phase.END):
                self._owned |= {claim.tp.partition for claim in event.claims}
            case OwnershipStep(kind=ChangeKind.REVOKED, phase=Phase.END):
                self._owned -= {claim.tp.partition for claim in event.claims}
            case OwnershipStep(kind=ChangeKind.LOST, phase=Phase.BEGIN):
                self._owned -= {claim.tp.partition for claim in event.claims}
            case OffsetRead(claim=claim, offset=int(offset)):
                self._positions[claim.tp.partition] = offset
            case Done():
                self._positions[event.claim.tp.partition] = event.next_offset
            case _:
                return

    def status(self) -> Status:
        """Say how the member is."""
        positions = {p: at for p, at in self._positions.items() if p in self._owned}
        return Status(
            state=self._state.value,
            generation=self._generation,
            leader=self._leader,
            partitions=tuple(sorted(self._owned)),
            positions=positions,
            records=sum(self._positions.values()),
        )


class Query:
    """A streaming query that writes a topic as Parquet.

    Args:
        spark: the session.
        setting: of the group that it is a member of.
        folder: for its table and its checkpoint.
    """

    def __init__(self, spark: Any, setting: Setting, folder: Path) -> None:  # noqa: ANN401
        self._spark = spark
        self._setting = setting
        self._folder = folder
        self._journal = setting.folder / f"{LABEL}.jsonl"
        self._heard = Heard()
        self._running: Any = None
        self.struck: int | None = None
        """Process id of the executor that was killed."""

    @property
    def table(self) -> Path:
        """Folder of its table."""
        return self._folder / "table"

    @asynccontextmanager
    async def taking_part(self, stage: Stage) -> AsyncIterator[None]:
        """Have it read from the beginning to the end of a run."""
        add = partial(Board.with_member, label=LABEL, instance=None, text="the query is started")
        stage.change(add)
        self._running = await anyio.to_thread.run_sync(self._start)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, stage)
                yield
                await anyio.to_thread.run_sync(self._running.processAllAvailable)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._running.stop)

    def _start(self) -> Any:  # noqa: ANN401 - pyspark's
        options = {
            "kafka.bootstrap.servers": self._setting.bootstrap,
            "kafka.client.id": LABEL,
            "kafka.group.id": self._setting.group,
            "journal": str(self._journal),
            "kgroup.assignors": "cooperative-sticky",
            "startingOffsets": "earliest",
            "subscribe": self._setting.topic,
        }
        return (
            self._spark.readStream.format("kgroup")
            .options(**options)
            .load()
            .writeStream.format("parquet")
            .option("path", str(self.table))
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(processingTime="1 second")
            .start()
        )

    async def _listen(self, stage: Stage) -> None:
        """Tell the board what the event log says.

        Raises:
            MemberFailedError: the query has ended by itself.
        """
        read = 0
        while True:
            text = self._journal.read_bytes()[read:] if self._journal.exists() else b""
            whole = text[: text.rfind(b"\n") + 1]
            read += len(whole)
            for line in whole.decode("ascii").splitlines():
                self._heard.hear(decode_entry(line).event)
            if whole:
                status = self._heard.status()
                stage.change(partial(Board.with_status, label=LABEL, status=status))
            if not self._running.isActive:
                raise MemberFailedError(LABEL, 1, str(self._running.exception()))
            await anyio.sleep(_LOOK)

    async def strike(self) -> None:
        """Kill an executor.

        Raises:
            UnsupportedError: there is none.
        """
        found = executors(self._spark.sparkContext.applicationId, _commands())
        if not found:
            raise UnsupportedError("Spark has no executor in a process of its own")
        self.struck = found[0]
        os.kill(self.struck, signal.SIGKILL)


def executors(application: str, commands: Iterable[tuple[int, str]]) -> list[int]:
    """Return the processes that are executors of an application of Spark's.

    Args:
        application: its id.
        commands: process id and command line of all processes.
    """
    return sorted(
        pid for pid, command in commands if _EXECUTOR in command and application in command
    )


def _commands() -> list[tuple[int, str]]:
    known = Path("/proc/self/cmdline").exists()
    if not known:
        listed = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, check=True)
        lines = listed.stdout.decode(errors="replace").splitlines()
        return [
            (int(pid), rest) for pid, _, rest in (each.strip().partition(" ") for each in lines)
        ]
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        found.append((int(entry.name), text))
    return found
