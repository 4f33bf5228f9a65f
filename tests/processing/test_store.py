"""A store in SQLite: each record counts once, and only the latest owner writes."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.consumer import Batch, Record
from kgroup.errors import FencedWriteError, IllegalStateError
from kgroup.processing import (
    DeadLetter,
    EffectivelyOnce,
    Hold,
    Per,
    ReportKind,
    SqliteStore,
    Wait,
)
from kgroup.types import TopicPartition
from tests.consumer.ground import fill
from tests.contracts.application import until
from tests.processing.at_work import A, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio

TP = TopicPartition("t", 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "bills.db") as opened:
        opened.connection.execute("CREATE TABLE bills (number INTEGER)")
        yield opened


def bills(store: SqliteStore) -> list[int]:
    """Return what handlers wrote, in order."""
    return [row[0] for row in store.connection.execute("SELECT number FROM bills ORDER BY rowid")]


async def write(record: Record[Any, Any], db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO bills VALUES (?)", (record.offset,))


# -- the fence -------------------------------------------------------------------------------------


async def test_each_owner_has_a_higher_epoch(store: SqliteStore) -> None:
    one = await store.acquire("g", TP, "one")
    two = await store.acquire("g", TP, "two")
    other = await store.acquire("g", TopicPartition("t", 1), "two")
    assert (one.epoch, two.epoch, other.epoch) == (1, 2, 1)
    assert (two.owner, two.offset) == ("two", None)


async def test_a_former_owner_is_refused_and_leaves_nothing(store: SqliteStore) -> None:
    one = await store.acquire("g", TP, "one")
    await store.acquire("g", TP, "two")
    with pytest.raises(FencedWriteError) as caught:
        async with store.transaction(one, 0, 1) as db:
            db.execute("INSERT INTO bills VALUES (1)")
    assert (caught.value.tp, caught.value.epoch, caught.value.present) == (TP, 1, 2)
    assert bills(store) == []


async def test_two_owners_with_one_number_are_told_apart_by_their_token(store: SqliteStore) -> None:
    one = await store.acquire("g", TP, "one")
    store.connection.execute("UPDATE kgroup_offsets SET owner = 'twin'")
    with pytest.raises(FencedWriteError):
        async with store.transaction(one, 0, 1):
            pass


async def test_what_the_handler_wrote_and_the_offset_are_one(store: SqliteStore) -> None:
    hold = await store.acquire("g", TP, "one")
    async with store.transaction(hold, 0, 1) as db:
        db.execute("INSERT INTO bills VALUES (0)")
    with pytest.raises(Trouble):  # noqa: PT012 - the block is what is undone
        async with store.transaction(hold, 1, 2) as db:
            db.execute("INSERT INTO bills VALUES (1)")
            raise Trouble
    assert bills(store) == [0]
    assert (await store.acquire("g", TP, "two")).offset == 1


async def test_an_offset_never_goes_back(store: SqliteStore) -> None:
    hold = await store.acquire("g", TP, "one")
    async with store.transaction(hold, 0, 5):
        pass
    with pytest.raises(FencedWriteError):
        async with store.transaction(hold, 3, 4):
            pass


async def test_a_given_number_must_be_higher(store: SqliteStore) -> None:
    await store.acquire("g", TP, "one", number=40)
    again = await store.acquire("g", TP, "one", number=40)
    assert again.epoch == 40
    for owner, number in (("two", 40), ("two", 39)):
        with pytest.raises(FencedWriteError):
            await store.acquire("g", TP, owner, number=number)
    assert (await store.acquire("g", TP, "two", number=41)).epoch == 41


async def test_a_handler_that_ends_the_transaction_itself_is_told(store: SqliteStore) -> None:
    hold = await store.acquire("g", TP, "one")
    with pytest.raises(IllegalStateError, match="ended the transaction"):
        async with store.transaction(hold, 0, 1) as db:
            db.execute("COMMIT")


async def test_a_writer_of_another_process_is_waited_for(
    store: SqliteStore, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "bills.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    took: list[int] = []

    async def take() -> None:
        took.append((await store.acquire("g", TP, "one")).epoch)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take)
        await anyio.sleep(5)
        assert took == []
        other.execute("COMMIT")
    assert took == [1]
    other.close()


async def test_a_writer_that_never_ends_is_a_timeout(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "bills.db", patience=3.0) as store:
        other = sqlite3.connect(tmp_path / "bills.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TimeoutError, match="another process"):
            await store.acquire("g", TP, "one")
        other.close()


# -- a processor on it -----------------------------------------------------------------------------


async def test_each_record_counts_once_and_the_group_sees_it_too(store: SqliteStore) -> None:
    broker = stored(30)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await work.committed(30)
        assert bills(store) == list(range(30))
        assert work.reports == []


async def test_a_failure_undoes_the_record_and_ends_the_processor(store: SqliteStore) -> None:
    async def fails_at_3(record: Record[Any, Any], db: sqlite3.Connection) -> None:
        await write(record, db)
        if record.offset == 3:
            raise Trouble

    async with at_work(stored(10), fails_at_3, EffectivelyOnce(store)) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
    assert bills(store) == [0, 1, 2]


async def test_what_the_store_has_is_skipped_and_committed(store: SqliteStore) -> None:
    hold = await store.acquire("g", A, "a former life")
    async with store.transaction(hold, 0, 7):
        pass
    broker = stored(10)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await work.committed(10)
        assert bills(store) == [7, 8, 9]
        assert [each.first for each in work.told(ReportKind.REPEATED)] == list(range(7))


async def test_a_batch_of_which_the_store_has_the_front_is_handled_from_there(
    store: SqliteStore,
) -> None:
    hold = await store.acquire("g", A, "a former life")
    async with store.transaction(hold, 0, 7):
        pass

    async def handle(batch: Batch[Any, Any], db: sqlite3.Connection) -> None:
        for record in batch:
            await write(record, db)

    broker = stored(30)
    semantics = EffectivelyOnce(store, Per.BATCH)
    async with at_work(broker, handle, semantics, max_poll_records=10) as work:
        await work.committed(30)
    assert bills(store) == list(range(7, 30))


async def test_a_group_that_was_deleted_repeats_nothing(store: SqliteStore) -> None:
    broker = stored(10)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await work.committed(10)
    broker.group("g").delete()
    fill(broker, A, 5)
    async with at_work(broker, write, EffectivelyOnce(store)) as work:
        await work.committed(15)
    assert bills(store) == list(range(15))
    (row,) = store.connection.execute("SELECT epoch FROM kgroup_offsets")
    assert row == (2,)


class Delayed:
    """A store whose first answer comes late.

    Args:
        store: that it stands for.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.release = anyio.Event()

    async def acquire(
        self, group_id: str, tp: TopicPartition, owner: str, number: int | None = None
    ) -> Hold:
        hold = await self._store.acquire(group_id, tp, owner, number)
        await self.release.wait()
        return hold

    def transaction(self, hold: Hold, first: int, next_offset: int) -> Any:
        return self._store.transaction(hold, first, next_offset)


async def test_a_zombie_writes_nothing_and_the_owner_goes_on(store: SqliteStore) -> None:
    """1. One takes the epoch; 2. before it writes another one does; 3. it is refused."""
    broker, delayed = stored(10), Delayed(store)
    async with at_work(broker, write, EffectivelyOnce(delayed)) as work:
        await until(lambda: work.consumer.owns(A), 60, "it owns")
        await anyio.sleep(1)
        other = await store.acquire("g", A, "another process")
        delayed.release.set()
        await work.committed(10)
        # It was refused once, still owned the partition, and took the next epoch.
        assert len(work.told(ReportKind.FENCED)) == 1
        assert bills(store) == list(range(10))
    with pytest.raises(FencedWriteError):
        async with store.transaction(other, 10, 11):
            pass


async def test_a_store_that_is_ahead_of_the_log_is_of_another_topic(store: SqliteStore) -> None:
    hold = await store.acquire("g", A, "a former life")
    async with store.transaction(hold, 0, 1000):
        pass
    async with at_work(stored(10), write, EffectivelyOnce(store)) as work:
        await work.ends()
        assert isinstance(work.error, IllegalStateError)
        assert "another topic of the same name" in str(work.error)


async def test_a_dead_letter_counts_as_processed(store: SqliteStore) -> None:
    async def fails_at_3(record: Record[Any, Any], db: sqlite3.Connection) -> None:
        await write(record, db)
        if record.offset == 3:
            raise Trouble

    broker = stored(5)
    broker.create_topic("dead", 1)
    stuck = DeadLetter("dead")
    async with at_work(broker, fails_at_3, EffectivelyOnce(store), stuck=stuck) as work:
        await work.committed(5)
    assert bills(store) == [0, 1, 2, 4]
    assert len(broker.partition("dead", 0).records()) == 1
    assert (await store.acquire("g", A, "next")).offset == 5


async def test_a_failing_record_is_tried_in_new_transactions(store: SqliteStore) -> None:
    tries: list[int] = []

    async def fails(record: Record[Any, Any], db: sqlite3.Connection) -> None:
        await write(record, db)
        if record.offset == 1 and len(tries) < 3:
            tries.append(record.offset)
            raise Trouble

    broker = stored(3)
    async with at_work(broker, fails, EffectivelyOnce(store), stuck=Wait()) as work:
        await work.committed(3)
    assert bills(store) == [0, 1, 2]
    assert at(broker) == 3
