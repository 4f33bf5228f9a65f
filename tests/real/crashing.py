"""A member in a process that ends itself, by SIGKILL, at the step of its work a test names.

Decides: the steps, each seen where the product tells of it in its event log: what is written there
has been decided and is not carried out yet. What the application is done with it writes down with
one `write(2)` each, so nothing that was done is missing.
Never: touches the product; the log's sink is the option of every consumer.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from kgroup import Consumer
from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    Event,
    FetchAnswered,
    RequestSent,
)
from kgroup.journal import Polled as PolledEvent
from kgroup.observe.journal_file import JournalFile, local_source, open_journal
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.words import Word

_ROOT = Path(__file__).parents[2]
_PATIENCE = 60.0


class Spot(Word):
    """Where the process ends."""

    POLLED = "the application asks for more"
    FETCHED = "records were fetched"
    CLAIM_WRITTEN = "a claim is about to be sent"
    CLAIM_READ = "the claim was read back"
    PROBE_WRITTEN = "a probe is about to be sent"
    PROBE_STORED = "the probe is stored"
    PROBE_READ = "the probe was read back"
    COMMIT_SENT = "a commit is about to be sent to the group coordinator"
    BEAT_WRITTEN = "a heartbeat is about to be sent"
    BEAT_STORED = "the heartbeat is stored"
    BEAT_READ = "the heartbeat was read back"
    RELEASE_WRITTEN = "a release is about to be sent"
    RELEASE_READ = "the release was read back"
    DONE = "the application is done with a number of records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the process does until it ends.

    Args:
        spot: where it ends.
        position: only at a message that carries this position; None for any.
        done: records it is done with at the earliest when it ends.
        commits: what it commits behind its first batch, its second ... ; None for nothing.
        closes_after: batches after which it closes its consumer, None for never.
    """

    spot: str
    position: int | None = None
    done: int = 0
    commits: tuple[int | None, ...] = ()
    closes_after: int | None = None


_SEEN: Mapping[tuple[ClaimMessage, ClaimStage], Spot] = {
    (ClaimMessage.CLAIM, ClaimStage.WRITTEN): Spot.CLAIM_WRITTEN,
    (ClaimMessage.CLAIM, ClaimStage.READ): Spot.CLAIM_READ,
    (ClaimMessage.PROBE, ClaimStage.WRITTEN): Spot.PROBE_WRITTEN,
    (ClaimMessage.PROBE, ClaimStage.READ): Spot.PROBE_READ,
    (ClaimMessage.HEARTBEAT, ClaimStage.WRITTEN): Spot.BEAT_WRITTEN,
    (ClaimMessage.HEARTBEAT, ClaimStage.READ): Spot.BEAT_READ,
    (ClaimMessage.RELEASE, ClaimStage.WRITTEN): Spot.RELEASE_WRITTEN,
    (ClaimMessage.RELEASE, ClaimStage.READ): Spot.RELEASE_READ,
}
_STORED = {Spot.PROBE_WRITTEN: Spot.PROBE_STORED, Spot.BEAT_WRITTEN: Spot.BEAT_STORED}


class Crashing:
    """A sink that ends its own process; the events go to a file first.

    Args:
        script: where.
        file: takes the events.
    """

    def __init__(self, script: Script, file: JournalFile) -> None:
        self.script = script
        self._file = file
        self._done = 0
        self._storing: Spot | None = None
        self._probed = False

    def emit(self, event: Event) -> None:
        """Take an event; it may be the last."""
        self._file.emit(event)
        for spot in self._spots(event):
            if spot.value == self.script.spot and self._done >= self.script.done:
                end()

    def done(self, offset: int, book: int) -> None:
        """Write down that the application is done with a record."""
        os.write(book, b"%d\n" % offset)
        self._done += 1
        if self.script.spot == Spot.DONE.value and self._done >= self.script.done:
            end()

    def _spots(self, event: Event) -> list[Spot]:
        match event:
            case PolledEvent():
                return [Spot.POLLED]
            case FetchAnswered() if event.next_offset > event.offset:
                return [Spot.FETCHED]
            case RequestSent(api=ApiKey.OFFSET_COMMIT) if self._probed:
                return [Spot.COMMIT_SENT]
            case AnswerReceived(api=ApiKey.PRODUCE) if self._storing is not None:
                return [self._storing]
            case ClaimStep():
                return self._claim_spots(event)
        return []

    def _claim_spots(self, event: ClaimStep) -> list[Spot]:
        spot = None if event.sender else _SEEN.get((event.message, event.stage))
        wanted = self.script.position
        if spot is None or (wanted is not None and event.position != wanted):
            return []
        stored, self._storing = self._storing, _STORED.get(spot)
        self._probed = spot is Spot.PROBE_READ
        # What is read is stored, whether or not the answer to the writing was faster.
        return [spot] if stored is None or self._storing else [stored, spot]


def end() -> None:
    """End this process at once, as nothing can be prevented from."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(_PATIENCE)  # the signal is on its way


async def crash(
    topic: str, folder: Path, runs_on: str, script: Script, **options: Any
) -> list[int]:
    """Have a process work by a script and end; return the records it was done with, in order.

    Args:
        topic: what it reads, one partition of it.
        folder: for its event log.
        runs_on: "asyncio" or "trio".
        script: what it does.
        options: of its consumer.
    """
    given = {"topic": topic, "folder": str(folder), "script": asdict(script), "options": options}
    orders = json.dumps({"runs_on": runs_on, **given})
    command = [sys.executable, "-m", "tests.real.crashing", orders]
    process: Process = await anyio.open_process(command, cwd=_ROOT, stdout=None, stderr=None)
    try:
        with anyio.fail_after(_PATIENCE):
            status = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.aclose()
    assert status == -signal.SIGKILL, f"it ended by itself, with {status}"
    book = folder / "done.txt"
    return [int(line) for line in book.read_text(encoding="ascii").splitlines()]


async def _serve(topic: str, folder: Path, script: Script, options: dict[str, Any]) -> None:
    book = os.open(folder / "done.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    source = local_source(options["client_id"], options["group_id"])
    path = folder / f"{options['client_id']}-ended.jsonl"
    sink = Crashing(script, open_journal(path, source, clock=time.monotonic, wall=time.time))
    async with Consumer(topic, journal=sink, **options) as consumer:
        await _work(consumer, sink, book)


async def _work(consumer: Consumer[Any, Any], sink: Crashing, book: int) -> None:
    """Do what the script says; the process does not outlive it."""
    commits, batches = iter(sink.script.commits), 0
    async for batch in consumer.batches():
        for record in batch:
            sink.done(record.offset, book)
        await _commit(consumer, batch.partition, next(commits, None))
        batches += 1
        if batches == sink.script.closes_after:
            await consumer.close()


async def _commit(consumer: Consumer[Any, Any], tp: TopicPartition, offset: int | None) -> None:
    if offset is not None:
        assert (await consumer.commit({tp: OffsetAndMetadata(offset)})).ok


if __name__ == "__main__":
    orders = json.loads(sys.argv[1])
    script = Script(**orders["script"])
    serve = partial(_serve, orders["topic"], Path(orders["folder"]), script, orders["options"])
    anyio.run(serve, backend=orders["runs_on"])
