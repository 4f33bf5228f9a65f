"""Handlers that misbehave: each has a defined end, and nobody else pays for it."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.processing import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    DeadLetter,
    InParallel,
    Order,
    Per,
    ReportKind,
    Semantics,
)
from kgroup.types import TopicPartition
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio

ALL: list[Semantics] = [
    AutoCommit(),
    AtLeastOnce(),
    AtLeastOnce(Per.BATCH),
    InParallel(Order.PARTITION),
]
EACH = pytest.mark.parametrize("semantics", ALL, ids=repr)


def options_of(semantics: Semantics) -> dict[str, Any]:
    return {"enable_auto_commit": isinstance(semantics, AutoCommit), "auto_commit_interval": 1.0}


class Hanging:
    """Hangs at offset 1 of each partition until it is released; takes records and batches."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.ended: list[tuple[TopicPartition, int]] = []

    async def __call__(self, unit: Any) -> None:
        records = [unit] if isinstance(unit, Record) else list(unit)
        for record in records:
            if record.offset == 1:
                await self.release.wait()
            self.ended.append((record.tp, record.offset))


@EACH
async def test_what_ends_after_its_partition_was_lost_is_told_and_never_committed(
    semantics: Semantics,
) -> None:
    broker, hanging = stored(3), Hanging()
    async with at_work(broker, hanging, semantics, client_id="one", **options_of(semantics)) as one:
        await until(lambda: one.consumer.owns(A), 60, "it owns")
        await anyio.sleep(5)
        before = one.consumer.membership
        broker.group("g").expire("one")
        lost = lambda: set(before.claims).isdisjoint(one.consumer.membership.claims)  # noqa: E731
        await until(lost, 60, "it hears of it")
        committed = at(broker)
        async with at_work(broker, Handler(), client_id="two") as two:
            await until(lambda: two.consumer.membership.generation, 60, "another one is there")
            hanging.release.set()
            await until(lambda: one.told(ReportKind.LATE), 60, "it is told")
        (report,) = one.told(ReportKind.LATE)
        assert report.tp == A
        assert report.token == before.generation
        assert report.first <= 1 < report.next_offset
        assert committed <= 1
        assert one.error is None


async def test_an_eager_group_waits_for_a_hanging_handler_for_half_of_the_poll_interval() -> None:
    broker, hanging, second = stored(3, width=2), Hanging(), Handler()
    eager: dict[str, Any] = {"assignors": ("range",)}
    async with at_work(broker, hanging, client_id="one", **eager) as one:
        await until(lambda: len(hanging.ended) == 2, 60, "it hangs in both")
        began = anyio.current_time()
        async with at_work(broker, second, client_id="two", **eager):
            await until(lambda: second.ended, 60, "one of them has moved")
            assert anyio.current_time() - began >= 29  # half of 60, less a heartbeat
            hanging.release.set()
            await one.committed(3, A)
            await one.committed(3, B)
    assert {(each.tp, each.first) for each in one.told(ReportKind.LATE)} == {(A, 1), (B, 1)}


async def test_in_a_cooperative_group_only_the_partition_waits_for_a_hanging_handler() -> None:
    broker, hanging, second = stored(3, width=2), Hanging(), Handler()
    async with at_work(broker, hanging, client_id="one") as one:
        await until(lambda: len(hanging.ended) == 2, 60, "it hangs in both")
        async with at_work(broker, second, client_id="two") as two:
            await until(lambda: one.consumer.membership.draining, 60, "one of them is to move")
            await anyio.sleep(200)
            assert second.ended == []
            hanging.release.set()
            await until(lambda: len(two.consumer.assignment()) == 1, 60, "it has moved")
            await one.committed(3, A)
            await one.committed(3, B)
        assert one.told(ReportKind.LATE) == []
    assert sorted(hanging.ended + second.ended) == [(tp, n) for tp in (A, B) for n in range(3)]


async def test_a_deadline_has_no_hold_on_a_handler_that_does_not_await() -> None:
    """When it succeeds in the end, that counts: it still owns the partition."""
    broker = stored(3)
    broker.create_topic("dead", 1)
    done: list[int] = []

    async def shielded(record: Record[Any, Any]) -> None:
        with anyio.CancelScope(shield=True):  # as good as blocking, in virtual time
            await anyio.sleep(20)
        done.append(record.offset)

    async with at_work(broker, shielded, stuck=DeadLetter("dead", deadline=5.0)) as work:
        await work.committed(3, within=100)
        assert work.told(ReportKind.DEAD_LETTERED) == []
    assert done == [0, 1, 2]


@pytest.mark.parametrize("semantics", [*ALL, AtMostOnce()], ids=repr)
async def test_a_handler_that_raises_ends_the_processor_and_other_records_are_whole(
    semantics: Semantics,
) -> None:
    broker = stored(3, width=2)
    handled: list[tuple[TopicPartition, int]] = []

    async def raises(unit: Any) -> None:
        for record in [unit] if isinstance(unit, Record) else list(unit):
            if (record.tp, record.offset) == (A, 1):
                raise Trouble
            handled.append((record.tp, record.offset))

    async with at_work(broker, raises, semantics, **options_of(semantics)) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
    at_most = isinstance(semantics, AtMostOnce)
    by_batch = not isinstance(semantics, InParallel) and semantics.per is Per.BATCH
    assert at(broker, A) == (2 if at_most else 0 if by_batch else 1)
    assert at(broker, B) == sum(tp == B for tp, _ in handled)
