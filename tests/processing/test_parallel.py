"""Several records at a time: their order, their bounds, and what a restart repeats."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.processing import DeadLetter, InParallel, Order, ReportKind
from kgroup.processing.gaps import read_runs
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio


def keyed(count: int, keys: int) -> InProcessBroker:
    """Return a cluster whose records have so many keys in turn."""
    broker = stored(0)
    broker.partition("t", 0).append(*((f"k{n % keys}", str(n)) for n in range(count)))
    return broker


class Concurrency:
    """Notes how many records are in work at a time, and in which order those of a key end."""

    def __init__(self, slow: str | None = None) -> None:
        self.now, self.most = 0, 0
        self.by_key: dict[bytes | None, list[int]] = {}
        self._slow = slow

    async def __call__(self, record: Record[Any, Any]) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        slow = self._slow is not None and record.key == self._slow.encode()
        await anyio.sleep(50.0 if slow else 0.1 + record.offset % 3 / 10)
        self.now -= 1
        self.by_key.setdefault(record.key, []).append(record.offset)


async def test_records_of_a_key_keep_their_order_and_others_pass() -> None:
    work_of = Concurrency()
    async with at_work(keyed(60, 6), work_of, InParallel(lanes=16)) as work:
        await work.committed(60)
    assert work_of.most == 6
    assert all(offsets == sorted(offsets) for offsets in work_of.by_key.values())


async def test_at_most_so_many_are_in_work() -> None:
    work_of = Concurrency()
    async with at_work(stored(60, width=2), work_of, InParallel(Order.NONE, lanes=5)) as work:
        await work.committed(60, A)
        await work.committed(60, B)
    assert work_of.most == 5


async def test_a_partition_at_a_time_keeps_all_of_its_order() -> None:
    work_of = Concurrency()
    semantics = InParallel(Order.PARTITION)
    async with at_work(keyed(20, 4), work_of, semantics) as work:
        await work.committed(20)
    assert work_of.most == 1


async def test_records_without_a_key_wait_for_nobody() -> None:
    work_of = Concurrency()
    async with at_work(stored(20), work_of, InParallel(lanes=8)) as work:
        await work.committed(20)
    assert work_of.most == 8


async def test_keys_that_cannot_be_hashed_are_lanes_too() -> None:
    work_of = Concurrency()
    semantics = InParallel(lanes=16)

    def split(data: bytes | None) -> list[bytes]:
        return [data or b""]

    async def handle(record: Record[Any, Any]) -> None:
        record.key = record.key[0]
        await work_of(record)

    async with at_work(keyed(20, 2), handle, semantics, key=split) as work:
        await work.committed(20)
    assert work_of.most == 2


async def test_only_the_prefix_is_committed_and_the_rest_is_noted() -> None:
    broker = keyed(40, 4)
    work_of = Concurrency(slow="k1")
    async with at_work(broker, work_of, InParallel()):
        await until(lambda: sum(map(len, work_of.by_key.values())) == 30, 30, "others are done")
        await anyio.sleep(1)
        committed = broker.group("g").offsets[A]
        assert committed.offset == 1
        noted = read_runs(committed.offset, committed.metadata)
        assert [offset for run in noted for offset in run] == [
            offset for offset in range(2, 40) if offset % 4 != 1
        ]


async def test_a_restart_repeats_nothing_that_was_noted() -> None:
    broker = keyed(40, 4)
    first = Concurrency(slow="k1")
    async with at_work(broker, first, InParallel()) as work:
        await until(lambda: sum(map(len, first.by_key.values())) == 30, 30, "others are done")
        await anyio.sleep(1)
        await work.consumer.close(commit=False)
    second = Handler()
    async with at_work(broker, second, InParallel()) as work:
        await work.committed(40)
    assert sorted(second.offsets()) == list(range(1, 40, 4))


async def test_a_full_partition_is_paused_and_no_other() -> None:
    broker, stuck = stored(300, width=2), anyio.Event()

    async def waits(record: Record[Any, Any]) -> None:
        if record.partition == 0:
            await stuck.wait()

    handler = Handler(waits)
    semantics = InParallel(Order.PARTITION, in_flight=20)
    async with at_work(broker, handler, semantics, max_poll_records=10) as work:
        await work.committed(300, B)
        assert work.consumer.paused() == {A}
        stuck.set()
        await work.committed(300, A)


async def test_a_failure_ends_it_and_what_was_done_beyond_is_noted() -> None:
    broker = keyed(20, 4)

    async def fails(record: Record[Any, Any]) -> None:
        await anyio.sleep(record.offset / 10)
        if record.offset == 1:
            raise Trouble

    handler = Handler(fails)
    async with at_work(broker, handler, InParallel()) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
    committed = broker.group("g").offsets[A]
    assert committed.offset == 1
    noted = {n for run in read_runs(1, committed.metadata) for n in run}
    assert noted == set(handler.offsets()) - {0}


async def test_a_moved_partition_repeats_nothing() -> None:
    broker = stored(0, width=2)
    for number in range(2):
        rows = ((f"k{n % 4}", str(n)) for n in range(200))
        broker.partition("t", number).append(*rows)
    first, second = Handler(work=0.2), Handler(work=0.2)
    async with at_work(broker, first, InParallel(), client_id="one", max_poll_records=20) as one:
        await one.committed(8)
        async with at_work(broker, second, InParallel(), client_id="two") as two:
            await until(lambda: second.ended, 60, "the second one has a partition")
            await one.committed(200, A, 120)
            await two.committed(200, B, 120)
    handled = sorted(first.ended + second.ended)
    expected = [(TopicPartition("t", number), n) for number in range(2) for n in range(200)]
    assert handled == expected


async def test_a_stopped_partition_goes_on_from_the_record_that_could_not_be_written() -> None:
    broker = keyed(12, 4)

    async def fails(record: Record[Any, Any]) -> None:
        if record.offset == 5:
            raise Trouble

    handler = Handler(fails)
    async with at_work(broker, handler, InParallel(), stuck=DeadLetter("dead")) as work:
        await until(lambda: work.processor.stopped, 60, "it is stopped")
        await anyio.sleep(5)
        assert at(broker) <= 5
        broker.create_topic("dead", 1)
        work.processor.go_on(A)
        await work.committed(12)
        assert sorted(handler.offsets()) == [n for n in range(12) if n != 5]
        assert len(work.told(ReportKind.DEAD_LETTERED)) == 1
