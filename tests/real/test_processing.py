"""Processors on a real broker: zombies and the store; the five strategies for a record that cannot
finish.
"""

import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kgroup import Consumer, Record
from kgroup.processing import (
    DeadLetter,
    Evict,
    Processor,
    Relinquish,
    Report,
    ReportKind,
    Requeue,
    Strategy,
    Wait,
    YieldingAssignor,
)
from kgroup.processing.verdicts import ATTEMPTS, CAUSE, ORIGIN
from kgroup.testing.kafka import RealKafka, create_topic
from kgroup.wire.consumer_protocol import decode_assignment
from tests.real.consumer_groups import CONSUMER, tune
from tests.real.ground import Ground, committed, describe, eventually, fresh, lay_ground
from tests.real.handling import Orders, life
from tests.real.members import FAST

pytestmark = pytest.mark.real

RECORDS = 10
PATIENCE = 180.0


STORED = Orders(semantics="store")
STUCK_AT_7 = Orders(semantics="store", waits_at=7)


def options_of(kafka: RealKafka, group: str, client_id: str, **more: Any) -> dict[str, Any]:
    fixed = {"bootstrap_servers": kafka.bootstrap, "group_id": group, "client_id": client_id}
    return {**FAST, **fixed, "enable_auto_commit": False, **more}


def bills(folder: Path) -> list[int]:
    """Return what is in the store."""
    with sqlite3.connect(folder / "bills.db") as db:
        found = [row[0] for row in db.execute("SELECT number FROM bills ORDER BY rowid")]
    db.close()
    return found


async def all_committed(kafka: RealKafka, group: str, count: int = RECORDS) -> None:
    """Wait until so much of partition 0 is committed."""
    with anyio.fail_after(PATIENCE):
        while True:
            found = await anyio.to_thread.run_sync(committed, kafka, group)
            if found.get(0) == count:
                return
            await anyio.sleep(0.1)


# -- zombies ---------------------------------------------------------------------------------------


@pytest.mark.faults
async def test_a_process_that_was_frozen_writes_nothing_when_it_wakes(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(RECORDS)
    place = ground.topic, tmp_path, anyio_backend_name
    zombie_options = options_of(kafka, group, "zombie")
    heir_options = options_of(kafka, group, "heir")
    async with life(*place, STUCK_AT_7, **zombie_options) as zombie:
        await eventually(lambda: zombie.lines("ready"), "it stands at 7", timeout=PATIENCE)
        zombie.send(signal.SIGSTOP)
        async with life(*place, STORED, **heir_options) as heir:
            await eventually(lambda: 9 in heir.lines("end"), "others go on", timeout=PATIENCE)
            (tmp_path / "go").touch()
            zombie.send(signal.SIGCONT)
            await eventually(lambda: zombie.lines("fenced"), "it is refused", timeout=PATIENCE)
            assert zombie.lines("fenced") == [7]
            heir.send(signal.SIGTERM)
            assert await heir.ended() == 0
    assert bills(tmp_path) == list(range(RECORDS))


@pytest.mark.faults
async def test_the_older_of_two_twins_writes_nothing_more(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    """Both have one generation: only the store can tell which is the later owner."""
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(RECORDS)
    place = ground.topic, tmp_path, anyio_backend_name
    older_options = options_of(kafka, group, "older", group_instance_id="one")
    younger_options = options_of(kafka, group, "younger", group_instance_id="one")
    async with life(*place, STUCK_AT_7, **older_options) as older:
        await eventually(lambda: older.lines("ready"), "it stands at 7", timeout=PATIENCE)
        async with life(*place, STORED, **younger_options) as younger:
            await eventually(
                lambda: 9 in younger.lines("end"), "the twin goes on", timeout=PATIENCE
            )
            (tmp_path / "go").touch()
            await eventually(lambda: older.lines("fenced"), "it is refused", timeout=PATIENCE)
            younger.send(signal.SIGTERM)
            assert await younger.ended() == 0
        assert await older.ended() != 0  # its group has fenced it, too
    assert set(older.lines("generation")) == set(younger.lines("generation"))
    assert bills(tmp_path) == list(range(RECORDS))


@pytest.mark.faults
async def test_a_group_that_was_deleted_counts_from_1_again_and_the_store_does_not(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    """1. A process is frozen; 2. its group is empty, and deleted; 3. another one begins it anew, in
    the same generation; 4. the first one wakes."""
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(RECORDS)
    place = ground.topic, tmp_path, anyio_backend_name
    zombie_options = options_of(kafka, group, "zombie")
    heir_options = options_of(kafka, group, "heir")
    async with life(*place, STUCK_AT_7, **zombie_options) as zombie:
        await eventually(lambda: zombie.lines("ready"), "it stands at 7", timeout=PATIENCE)
        zombie.send(signal.SIGSTOP)
        await anyio.to_thread.run_sync(delete_when_empty, kafka, group)
        async with life(*place, STORED, **heir_options) as heir:
            await eventually(lambda: 9 in heir.lines("end"), "others go on", timeout=PATIENCE)
            (tmp_path / "go").touch()
            zombie.send(signal.SIGCONT)
            await eventually(lambda: zombie.lines("fenced"), "it is refused", timeout=PATIENCE)
            heir.send(signal.SIGTERM)
            assert await heir.ended() == 0
    assert set(zombie.lines("generation")) == set(heir.lines("generation"))
    assert heir.lines("repeated") == list(range(7))  # nothing was committed any more
    assert heir.lines("begin") == [7, 8, 9]
    assert bills(tmp_path) == list(range(RECORDS))


def delete_when_empty(kafka: RealKafka, group: str) -> None:
    """Delete a group as soon as the coordinator has missed its last member."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    ends = time.monotonic() + PATIENCE
    while describe(kafka, group).group_state != "Empty":
        assert time.monotonic() < ends, "it is never empty"
        time.sleep(0.1)
    admin.delete_consumer_groups([group])[group].result(10.0)


# -- records that cannot finish --------------------------------------------------------------------


class Failing:
    """A handler that fails at one record of partition 0, so often."""

    def __init__(self, value: bytes, times: int = 10**6) -> None:
        self.value, self.times, self.tries = value, times, 0
        self.done: list[bytes] = []

    async def __call__(self, record: Record[Any, Any]) -> None:
        if record.value == self.value and self.tries < self.times:
            self.tries += 1
            raise ValueError("no such bill")
        self.done.append(record.value)


@asynccontextmanager
async def processing(
    ground: Ground,
    handler: Callable[..., Awaitable[None]],
    stuck: Strategy,
    **options: Any,
) -> AsyncIterator[list[Report]]:
    """Have a processor at work for one block."""
    reports: list[Report] = []
    async with Consumer(ground.topic, **options) as consumer, anyio.create_task_group() as tasks:
        processor = Processor(consumer, handler, stuck=stuck)
        processor.hear(reports.append)
        tasks.start_soon(processor.run)
        yield reports
        processor.stop()


def values(ground: Ground, *offsets: int, partition: int = 0) -> set[bytes]:
    return {f"{ground.topic}-{partition}@{offset}".encode() for offset in offsets}


@pytest.mark.faults
async def test_wait_holds_up_only_its_partition(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 2), fresh("group")
    await ground.fill(5)
    failing = Failing(f"{ground.topic}-0@2".encode(), times=4)
    options = options_of(kafka, group, "one")
    async with processing(ground, failing, Wait(pause=1.0), **options) as reports:
        other = values(ground, *range(5), partition=1)
        await eventually(lambda: other <= set(failing.done), "the other one flows")
        await eventually(lambda: len(failing.done) == 10, "all is done", timeout=PATIENCE)
        assert [each.attempt for each in reports] == [1, 2, 3, 4]
    assert len(set(failing.done)) == 10


@pytest.mark.faults
async def test_evict_gives_everything_to_others(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(5)
    release = anyio.Event()
    failing, heir = Failing(b""), Failing(b"")

    async def hangs(record: Record[Any, Any]) -> None:
        if record.offset == 2 and not release.is_set():
            await release.wait()
        await failing(record)

    one, two = (options_of(kafka, group, name) for name in ("one", "two"))
    async with processing(ground, hangs, Evict(), **one) as reports:
        await eventually(lambda: len(failing.done) == 2, "it hangs")
        async with processing(ground, heir, Wait(), **two):
            wanted = values(ground, 2, 3, 4)
            await eventually(lambda: wanted <= set(heir.done), "others go on", timeout=PATIENCE)
            release.set()
            await eventually(lambda: reports, "it is told")
            assert [each.kind for each in reports] == [ReportKind.LATE]


@pytest.mark.parametrize("protocol", [{}, CONSUMER], ids=["classic", "KIP-848"])
async def test_relinquish_gives_everything_to_others_at_once(
    kafka: RealKafka, protocol: dict[str, Any]
) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    await ground.fill(5)
    tune(kafka, group)
    failing, heir = Failing(f"{ground.topic}-0@2".encode()), Failing(b"")
    one, two = (options_of(kafka, group, name, **protocol) for name in ("one", "two"))
    async with processing(ground, failing, Relinquish(2.0, away=300.0), **one):
        await eventually(lambda: failing.tries, "it fails")
        async with processing(ground, heir, Wait(), **two):
            wanted = values(ground, 2, 3, 4)
            await eventually(lambda: set(heir.done) == wanted, "others go on", timeout=PATIENCE)
    assert set(failing.done) == values(ground, 0, 1)


class StuckAt2(Failing):
    """Fails for ever at offset 2 of the first partition of which it gets that."""

    async def __call__(self, record: Record[Any, Any]) -> None:
        if record.offset == 2 and not self.value:
            self.value = record.value
        await super().__call__(record)


async def test_relinquish_gives_one_partition_away_where_the_assignor_can_be_told(
    kafka: RealKafka,
) -> None:
    ground, group = await lay_ground(kafka, 4), fresh("group")
    stuck, heir = StuckAt2(b""), Failing(b"")
    one, two = (
        options_of(kafka, group, name, assignors=[YieldingAssignor()]) for name in ("one", "two")
    )
    async with (
        processing(ground, stuck, Relinquish(2.0, away=300.0), **one) as reports,
        processing(ground, heir, Wait(), **two),
    ):
        await anyio.to_thread.run_sync(until_both_are_in, kafka, group)
        await ground.fill(5)
        everything = {value for p in range(4) for value in values(ground, *range(5), partition=p)}
        done = lambda: {*stuck.done, *heir.done}  # noqa: E731
        await eventually(lambda: done() == everything, "all is done", timeout=PATIENCE)
        assert [each.kind for each in reports if each.kind is not ReportKind.FAILED] == [
            ReportKind.STEPPED_BACK
        ]
    assert len(stuck.done) == 7  # two of the one, and all five of the other
    assert len(heir.done) == 13


def until_both_are_in(kafka: RealKafka, group: str) -> None:
    """Wait until two members have two partitions each."""
    ends = time.monotonic() + PATIENCE
    while True:
        found = describe(kafka, group)
        given = [
            len(decode_assignment(each.member_assignment).partitions) for each in found.members
        ]
        if found.group_state == "Stable" and given == [2, 2]:
            return
        assert time.monotonic() < ends, "they never have two each"
        time.sleep(0.1)


async def test_requeue_then_dead_letter(kafka: RealKafka) -> None:
    ground, group, dead = await lay_ground(kafka, 1), fresh("group"), fresh("dead")
    await anyio.to_thread.run_sync(create_topic, kafka.bootstrap, dead, 1)
    await ground.fill(5)
    failing = Failing(f"{ground.topic}-0@2".encode())
    stuck = Requeue(2.0, dead, attempts=2, write_timeout=3.0)
    async with processing(ground, failing, stuck, **options_of(kafka, group, "one")) as reports:
        await all_committed(kafka, group, 6)
        kinds = [each.kind for each in reports if each.kind is not ReportKind.FAILED]
        assert kinds == [ReportKind.REQUEUED, ReportKind.DEAD_LETTERED]
    assert set(failing.done) == values(ground, 0, 1, 3, 4)
    letter = await read_one(kafka, dead)
    headers = dict(letter.headers)
    assert letter.value == failing.value
    assert headers[ATTEMPTS] == b"2"
    assert headers[ORIGIN] == f"{ground.topic}-0@2".encode()
    assert headers[CAUSE] == b"ValueError: no such bill"


async def test_a_dead_letter_is_in_the_other_topic_before_the_record_is_committed(
    kafka: RealKafka,
) -> None:
    ground, group, dead = await lay_ground(kafka, 1), fresh("group"), fresh("dead")
    await anyio.to_thread.run_sync(create_topic, kafka.bootstrap, dead, 1)
    await ground.fill(5)
    failing = Failing(f"{ground.topic}-0@2".encode())
    stuck = DeadLetter(dead, attempts=2)
    async with processing(ground, failing, stuck, **options_of(kafka, group, "one")):
        await all_committed(kafka, group, 5)
    assert (await read_one(kafka, dead)).value == failing.value
    assert failing.tries == 2


async def test_a_letter_that_the_broker_refuses_stops_its_partition_and_skips_nothing(
    kafka: RealKafka,
) -> None:
    ground, group, dead = await lay_ground(kafka, 2), fresh("group"), fresh("dead")
    await anyio.to_thread.run_sync(make_topic_for_nothing, kafka, dead)
    await ground.fill(5)
    failing = Failing(f"{ground.topic}-0@2".encode())
    stuck = DeadLetter(dead)
    async with processing(ground, failing, stuck, **options_of(kafka, group, "one")) as reports:
        wanted = values(ground, 0, 1) | values(ground, *range(5), partition=1)
        stopped = lambda: [each for each in reports if each.kind is ReportKind.STOPPED]  # noqa: E731
        await eventually(stopped, "it stops", timeout=PATIENCE)
        await eventually(lambda: set(failing.done) == wanted, "the other one flows")
        assert [(each.first, each.tp) for each in stopped()] == [(2, ground.tp(0))]
        assert "MESSAGE_TOO_LARGE" in str(stopped()[0].error)
    assert (await anyio.to_thread.run_sync(committed, kafka, group))[0] == 2


def make_topic_for_nothing(kafka: RealKafka, topic: str) -> None:
    """Make a topic that takes no record, for each is too large."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    new = NewTopic(topic, 1, 1, config={"max.message.bytes": "10"})
    admin.create_topics([new])[topic].result(10.0)


async def read_one(kafka: RealKafka, topic: str) -> Record[Any, Any]:
    """Return the first record of a topic."""
    place = kafka.bootstrap
    async with Consumer(bootstrap_servers=place, auto_offset_reset="earliest") as consumer:
        consumer.follow(topic)
        return await consumer.getone(timeout=PATIENCE)
