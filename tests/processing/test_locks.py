"""Locks outside Kafka: one for each batch, and whose write counts when two believe they have it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.consumer import Batch, Record
from kgroup.errors import LockLostError
from kgroup.processing import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    EffectivelyOnce,
    Grant,
    Locked,
    Per,
    ReportKind,
    Semantics,
    SqliteLock,
    SqliteStore,
    per_key,
)
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio


class Service:
    """A lock service in memory."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.asked: list[str] = []
        self.down: set[str] = set()
        self.hangs = False

    async def acquire(self, name: str, owner: str) -> Grant | None:
        await anyio.sleep(10**6 if self.hangs else 0.001)
        self.asked.append(name)
        if name in self.down:
            raise ConnectionError("the service is down")
        if self.held.setdefault(name, owner) != owner:
            return None
        self.epochs[name] = self.epochs.get(name, 0) + 1
        return Grant(name, owner, self.epochs[name])

    async def release(self, grant: Grant) -> None:
        await anyio.sleep(0.001)
        if grant.name in self.down:
            raise ConnectionError("the service is down")
        self.held.pop(grant.name, None)


OF_A, OF_B = "g/t-0", "g/t-1"


@pytest.mark.parametrize("semantics", [AtLeastOnce(), AtMostOnce(), AutoCommit()], ids=repr)
async def test_a_lock_is_held_while_a_batch_is_handled(semantics: Semantics) -> None:
    service, seen = Service(), list[tuple[str, int]]()

    async def handle(record: Record[Any, Any], grants: tuple[Grant, ...]) -> None:
        (grant,) = grants
        assert service.held == {OF_A: grant.owner}
        seen.append((grant.name, grant.epoch))

    auto = {"enable_auto_commit": True, "auto_commit_interval": 1.0}
    options: dict[str, Any] = auto if isinstance(semantics, AutoCommit) else {}
    async with at_work(
        stored(6), handle, semantics, locks=Locked(service), max_poll_records=3, **options
    ) as work:
        await work.committed(6)
        await until(lambda: not service.held, 10, "it is given back")
    # One lock for a batch, not for a record.
    assert seen == [(OF_A, 1)] * 3 + [(OF_A, 2)] * 3


async def test_a_service_that_is_down_holds_up_only_its_partitions() -> None:
    service, handler = Service(), Handler()
    service.down = {OF_A}
    async with at_work(stored(3, width=2), handler, locks=Locked(service)) as work:
        await work.committed(3, B)
        await anyio.sleep(100)
        assert handler.offsets(A) == []
        assert work.consumer.paused() == {A}
        (report,) = work.told(ReportKind.UNLOCKED)
        assert (report.tp, repr(report.error)) == (A, "ConnectionError('the service is down')")
        service.down.clear()
        await work.committed(3, A)
    assert handler.offsets(A) == [0, 1, 2]


async def test_a_service_that_hangs_is_waited_for_no_longer_than_it_is_patient() -> None:
    service, handler = Service(), Handler()
    service.hangs = True
    async with at_work(stored(3), handler, locks=Locked(service, patience=2.0)) as work:
        await until(lambda: work.told(ReportKind.UNLOCKED), 20, "it is told")
        service.hangs = False
        await work.committed(3)


async def test_a_lock_that_somebody_else_has_is_waited_for() -> None:
    service, handler = Service(), Handler()
    service.held[OF_A] = "somebody"
    async with at_work(stored(3), handler, locks=Locked(service)) as work:
        await until(lambda: work.told(ReportKind.UNLOCKED), 20, "it is told")
        await anyio.sleep(20)
        assert at(work.broker) == 0
        del service.held[OF_A]
        await work.committed(3)


async def test_the_locks_of_keys_are_taken_in_order_and_all_or_none() -> None:
    service, handler, broker = Service(), Handler(), stored(0)
    for key in ("b", "a", "b"):
        broker.partition("t", 0).append("value", key=key)
    names = ["g/t/b'a'", "g/t/b'b'"]
    service.down = {names[1]}
    async with at_work(broker, handler, locks=Locked(service, per_key)) as work:
        await until(lambda: len(service.asked) == 4, 20, "twice")
        assert service.asked == names * 2
        assert handler.begun == []
        service.down.clear()
        await work.committed(3)
        await until(lambda: not service.held, 10, "they are given back")


async def test_names_that_cannot_be_told_end_the_processor() -> None:
    def none(group_id: str, batch: Batch[Any, Any]) -> list[str]:
        raise Trouble(group_id)

    async with at_work(stored(3), Handler(), locks=Locked(Service(), none)) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)


async def test_a_write_that_the_lock_refuses_is_told_and_tried_under_a_new_grant() -> None:
    service, epochs = Service(), list[int]()

    async def handle(record: Record[Any, Any], grants: tuple[Grant, ...]) -> None:
        epochs.append(grants[0].epoch)
        if len(epochs) == 2:
            raise LockLostError(OF_A, grants[0].epoch, grants[0].epoch + 1)

    async with at_work(stored(3), handle, locks=Locked(service)) as work:
        await work.committed(3)
        (report,) = work.told(ReportKind.FENCED)
        assert report.first == 1
        assert work.error is None
    assert epochs == [1, 1, 2, 2]


async def test_a_handler_gets_the_transaction_first_and_then_the_grants(tmp_path: Path) -> None:
    seen: list[object] = []

    async def handle(
        batch: Batch[Any, Any], db: sqlite3.Connection, grants: tuple[Grant, ...]
    ) -> None:
        seen.append((len(batch), isinstance(db, sqlite3.Connection), grants[0].name))

    with SqliteStore(tmp_path / "bills.db") as store:
        way = EffectivelyOnce(store, Per.BATCH)
        async with at_work(stored(3), handle, way, locks=Locked(Service())) as work:
            await work.committed(3)
    assert seen == [(3, True, OF_A)]


# -- SQLite ----------------------------------------------------------------------------------------


class Hand:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def lock(tmp_path: Path, hand: Hand) -> Iterator[SqliteLock]:
    with SqliteLock(tmp_path / "bills.db", ttl=60.0, wall=hand) as opened:
        yield opened


async def test_one_has_a_lock_until_it_is_given_back_or_runs_out(
    lock: SqliteLock, hand: Hand
) -> None:
    one = await lock.acquire("n", "one")
    assert one == Grant("n", "one", 1)
    assert await lock.acquire("n", "two") is None
    assert await lock.acquire("other", "two") == Grant("other", "two", 1)
    await lock.release(one)
    assert await lock.acquire("n", "two") == Grant("n", "two", 2)
    hand.now += 60.0
    assert await lock.acquire("n", "one") == Grant("n", "one", 3)


async def test_a_grant_that_is_over_gives_nothing_back(lock: SqliteLock, hand: Hand) -> None:
    one = await lock.acquire("n", "one")
    assert one is not None
    hand.now += 60.0
    await lock.acquire("n", "two")
    await lock.release(one)
    assert await lock.acquire("n", "three") is None


async def test_two_that_believe_they_have_it_and_only_the_later_one_writes(
    lock: SqliteLock, hand: Hand, tmp_path: Path
) -> None:
    one = await lock.acquire("n", "one")
    assert one is not None
    hand.now += 60.0  # as if its process had been frozen
    two = await lock.acquire("n", "two")
    assert two is not None
    db = sqlite3.connect(tmp_path / "bills.db", isolation_level=None)
    db.execute("CREATE TABLE bills (owner TEXT)")

    def write(grant: Grant) -> None:
        db.execute("BEGIN IMMEDIATE")
        with db:
            lock.check(db, grant)
            db.execute("INSERT INTO bills VALUES (?)", (grant.owner,))

    write(two)
    with pytest.raises(LockLostError) as caught:
        write(one)
    assert (caught.value.name, caught.value.epoch, caught.value.present) == ("n", 1, 2)
    assert db.execute("SELECT owner FROM bills").fetchall() == [("two",)]
    db.close()
