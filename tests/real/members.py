"""kgroup's own members of a group on a real Kafka, what each saw, and the verdict on all of them.

Decides: the fast profile, how a member reads when a test does not say otherwise, and that each
writes its event log, by which the run is judged.
Never: looks behind the public API.
"""

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest
from anyio.abc import TaskGroup, TaskStatus

from kgroup import Batch, Consumer
from kgroup.audit import Truth, Verdict, audit, render_verdict
from kgroup.types import (
    ChangeKind,
    MemberState,
    OffsetAndMetadata,
    OwnershipChange,
    TopicPartition,
)
from tests.real.ground import PATIENCE, Ground, eventually, fresh, value_at
from tests.search.oracles import members_oracles

SLACK = 0.25
"""Seconds forgiven to the lease: stamps of a busy machine are later than the decisions."""

FAST: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "session_timeout": 6.0,
    "heartbeat_interval": 0.3,
    "max_poll_interval": 10.0,
    "auto_commit_interval": 0.5,
    "fetch_max_wait": 0.1,
    "assignors": ("cooperative-sticky",),
}

LASTING: dict[str, Any] = {"session_timeout": 60.0, "max_poll_interval": 60.0}
"""For members that keep what they have while brokers start again, which takes a busy machine more
than ten seconds. Without an answer both bound the lease: a session, and a round's wait (KIP-62)."""

BOTH = pytest.mark.parametrize("kafka", ["4.3.1", "3.9.1"], indirect=True)
"""For tests of what the two group coordinators may do differently."""

CROSSED = pytest.mark.parametrize(
    ("kafka", "anyio_backend"), [("4.3.1", "asyncio"), ("3.9.1", "trio")], indirect=["kafka"]
)
"""For such tests that take seconds: each coordinator once, and each async backend once."""

ENDING = (ChangeKind.LOST, ChangeKind.REVOKED)
"""The callbacks that take something away."""


@dataclass(frozen=True, slots=True)
class Read:
    """One record as a member got it.

    Args:
        tp: where it is from.
        offset: its place there.
        at: monotonic seconds.
    """

    tp: TopicPartition
    offset: int
    at: float


class Member:
    """A consumer in a task of its own; it is its own listener.

    Args:
        label: its name in logs.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.consumer: Consumer[Any, Any]
        self.reads: list[Read] = []
        self.changes: list[OwnershipChange] = []
        self.failure: Exception | None = None
        self.finished = anyio.Event()
        self.on_revoking: Callable[[OwnershipChange], Awaitable[None]] | None = None

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self.consumer.assignment())

    @property
    def seen(self) -> list[tuple[TopicPartition, int]]:
        return [(read.tp, read.offset) for read in self.reads]

    @property
    def knows_its_round(self) -> bool:
        """Whether its listener has heard of the round it is in; it hears of empty ones, too."""
        last = self.changes[-1].generation if self.changes else None
        return last is not None and last.generation_id == self.generation_id

    @property
    def generation_id(self) -> int | None:
        generation = self.consumer.membership.generation
        return None if generation is None else generation.generation_id

    @property
    def member_id(self) -> str:
        generation = self.consumer.membership.generation
        assert generation is not None
        return generation.member_id

    def is_in(self, state: MemberState) -> bool:
        return self.consumer.membership.state is state

    def took(self, *kinds: ChangeKind) -> list[ChangeKind]:
        """Return the kinds of those callbacks that took something away."""
        return [each.kind for each in self.changes if each.kind in kinds and each.removed]

    def take(self, batch: Batch[Any, Any]) -> None:
        """Note every record of a batch, and that each is what was written at its place."""
        now = time.monotonic()
        for record in batch:
            assert record.value == value_at(batch.partition, record.offset)
            self.reads.append(Read(batch.partition, record.offset, now))

    async def commit_reads(self) -> None:
        """Commit how far each owned partition was read, and check that it is stored."""
        ends = {read.tp: read.offset + 1 for read in self.reads}
        outcome = await self.consumer.commit({tp: OffsetAndMetadata(ends[tp]) for tp in self.owned})
        assert outcome.ok
        assert outcome.partitions.keys() == self.owned

    def heard(self, kind: ChangeKind) -> frozenset[TopicPartition]:
        """Return every partition its listener heard of in one kind of callback."""
        return frozenset(
            claim.tp
            for change in self.changes
            if change.kind is kind
            for claim in change.added + change.removed
        )

    # -- the listener ----------------------------------------------------------------------

    def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self.changes.append(change)

    async def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self.changes.append(change)
        if self.on_revoking is not None:
            await self.on_revoking(change)

    def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self.changes.append(change)


class Reader(Protocol):
    """A reader, in any process or library."""

    @property
    def seen(self) -> list[tuple[TopicPartition, int]]: ...


Work = Callable[[Member], Awaitable[None]]
"""What a member does with its consumer until that is closed."""


async def read_on(member: Member) -> None:
    """Read batches as fast as they come."""
    async for batch in member.consumer.batches():
        member.take(batch)


class Group:
    """A group of members, and where their logs are.

    Args:
        ground: what they read.
        folder: for their event logs.
        tasks: owns their tasks.
        options: of all members, on top of the fast profile.
        name: of the group.
    """

    def __init__(
        self, ground: Ground, folder: Path, tasks: TaskGroup, options: dict[str, Any], name: str
    ) -> None:
        self.ground = ground
        self.name = name
        self.members: list[Member] = []
        self._folder = folder
        self._tasks = tasks
        self._options = options

    def options(self, label: str) -> dict[str, Any]:
        """Return the options of a member of that name, without its event log."""
        fixed = {
            "bootstrap_servers": self.ground.kafka.bootstrap,
            "group_id": self.name,
            "client_id": label,
        }
        return {**FAST, **fixed, **self._options}

    async def join(
        self, label: str, work: Work = read_on, *, topics: Sequence[str] = (), **options: Any
    ) -> Member:
        """Enter a member and set it to work; returns before it owns anything.

        A fatal error of its consumer is kept in `failure`, anything else ends the test.

        Args:
            label: its name in logs.
            work: what it does with its consumer.
            topics: what it subscribes to, none for the ground's.
            options: on top of the group's.
        """
        member = Member(label)
        given = {**self.options(label), "journal": self._folder / f"{label}.jsonl", **options}
        member.consumer = Consumer(*(topics or (self.ground.topic,)), listener=member, **given)
        await self._tasks.start(self._live, member, work)
        self.members.append(member)
        return member

    async def leave(self, *members: Member, timeout: float = 5.0) -> None:
        """Close members, one after the other, and wait until each has ended."""
        for member in members:
            await member.consumer.close(timeout=timeout)
            with anyio.fail_after(timeout):
                await member.finished.wait()
            self.members.remove(member)

    async def end(self) -> None:
        """Close every member that is left."""
        await self.leave(*self.members)

    async def settled(self, *sizes: int) -> None:
        """Wait until all are in one generation, own so many each, and every listener knows."""

        def is_so() -> bool:
            owned = [member.owned for member in self.members]
            return (
                sorted(map(len, owned)) == sorted(sizes)
                and frozenset().union(*owned) == self.ground.all_partitions
                and len({member.generation_id for member in self.members}) == 1
                and all(member.knows_its_round for member in self.members)
            )

        what = f"members own {sizes} of {self.ground.partitions} partitions"
        try:
            await eventually(is_so, what)
        except TimeoutError as error:
            states = [f"{m.label}: {m.consumer.membership} {m.failure}" for m in self.members]
            error.add_note("\n".join(states))
            raise

    async def steady(self) -> None:
        """Wait until no member is in a round, or owes one."""

        def is_so() -> bool:
            return all(member.is_in(MemberState.STABLE) for member in self.members)

        await eventually(is_so, "all are Stable")
        await anyio.sleep(1.0)
        await self.settled(*(len(member.owned) for member in self.members))

    async def all_read(self, *others: Reader) -> None:
        """Wait until everything that was written has been read by some member."""

        def missing() -> set[tuple[TopicPartition, int]]:
            readers: tuple[Reader, ...] = (*self.members, *others)
            found = {place for reader in readers for place in reader.seen}
            return self.ground.expected() - found

        await eventually(lambda: not missing(), "every record is read")

    async def all_read_more(self, *, timeout: float = PATIENCE) -> None:
        """Wait until each partition was read from again."""
        begun = time.monotonic()

        def is_so() -> bool:
            news = {read.tp for m in self.members for read in m.reads if read.at > begun}
            return news == self.ground.all_partitions

        await eventually(is_so, "every partition is read from", timeout=timeout)

    async def judged(self) -> Verdict:
        """Judge all logs against what the broker holds."""
        truth = Truth(bounds=await self.ground.bounds())
        oracles = tuple(members_oracles(slack=SLACK).values())
        return audit([self._folder / "*.jsonl"], truth, oracles=oracles)

    async def verdict(self) -> Verdict:
        """Judge all logs; fails unless the verdict is clean."""
        found = await self.judged()
        assert found.clean, render_verdict(found)
        return found

    async def _live(self, member: Member, work: Work, *, task_status: TaskStatus[None]) -> None:
        try:
            async with member.consumer:
                task_status.started()
                await work(member)
        except Exception as error:
            member.failure = error
            if error is not member.consumer.failure:
                raise
        finally:
            member.finished.set()


@asynccontextmanager
async def group_on(
    ground: Ground, folder: Path, *, name: str | None = None, **options: Any
) -> AsyncIterator[Group]:
    """Have a group for one block; members that are left at its end are closed.

    Args:
        ground: what it reads.
        folder: for its members' event logs.
        name: of the group, None for a fresh one.
        options: of all members, on top of the fast profile.
    """
    try:
        async with anyio.create_task_group() as tasks:
            group = Group(ground, folder, tasks, options, name or fresh("group"))
            yield group
            await group.end()
    except BaseException:
        # The folder may be gone with the machine; what was said, pytest shows.
        sys.stderr.write(_last_words(folder))
        raise


def _last_words(folder: Path, lines: int = 60) -> str:
    """Return the ends of all event logs of a test."""
    found = {path: path.read_text("utf-8").splitlines()[-lines:] for path in folder.glob("*.jsonl")}
    return "\n".join(f"{path.name}:\n" + "\n".join(found[path]) for path in sorted(found))
