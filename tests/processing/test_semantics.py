"""Each semantics: what is handled and what is committed after success, failure, and handover."""

from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Batch, Record
from kgroup.processing import (
    AtLeastOnce,
    AtMostOnce,
    AutoCommit,
    InParallel,
    Order,
    Per,
    ReportKind,
    Semantics,
)
from kgroup.types import CommitOutcome
from kgroup.wire.messages import OffsetCommitRequest
from tests.contracts.application import until
from tests.processing.at_work import A, B, Handler, Trouble, at, at_work, stored

pytestmark = pytest.mark.anyio

ALL: list[Semantics] = [AutoCommit(), AtLeastOnce(), AtMostOnce(), InParallel(Order.PARTITION)]
EACH = pytest.mark.parametrize("semantics", ALL, ids=lambda each: type(each).__name__)


def options_of(semantics: Semantics) -> dict[str, Any]:
    return {"enable_auto_commit": isinstance(semantics, AutoCommit), "auto_commit_interval": 1.0}


async def raises_at_5(record: Record[Any, Any]) -> None:
    if record.offset == 5:
        raise Trouble


# -- one record after the other ----------------------------------------------------------------


@EACH
async def test_each_record_is_handled_once_in_order_and_committed(semantics: Semantics) -> None:
    handler = Handler()
    async with at_work(stored(30), handler, semantics, **options_of(semantics)) as work:
        await work.committed(30)
        assert handler.offsets() == list(range(30))
        assert work.reports == []


@EACH
async def test_what_a_handler_raises_ends_the_processor(semantics: Semantics) -> None:
    broker, handler = stored(10), Handler(raises_at_5)
    async with at_work(broker, handler, semantics, **options_of(semantics)) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
        await work.consumer.close()
    assert handler.offsets() == list(range(5))
    assert at(broker) == (6 if isinstance(semantics, AtMostOnce) else 5)


@EACH
async def test_the_next_process_goes_on_where_the_first_one_ended(semantics: Semantics) -> None:
    broker = stored(10)
    async with at_work(broker, Handler(raises_at_5), semantics, **options_of(semantics)) as work:
        await work.ends()
    second = Handler()
    async with at_work(broker, second, semantics, **options_of(semantics)) as work:
        await work.committed(10)
    lost = isinstance(semantics, AtMostOnce)
    assert second.offsets() == list(range(6 if lost else 5, 10))


@EACH
async def test_a_partition_that_moves_is_handed_over_without_a_repetition(
    semantics: Semantics,
) -> None:
    broker, first, second = stored(60, width=2), Handler(work=0.3), Handler(work=0.01)
    options = options_of(semantics)
    async with at_work(broker, first, semantics, client_id="one", **options) as one:
        await one.committed(3)
        async with at_work(broker, second, semantics, client_id="two", **options) as two:
            await until(lambda: second.ended, 60, "the second one has a partition")
            await one.committed(60, A, 120)
            await two.committed(60, B, 120)
            await anyio.sleep(1)  # at most once, the last one is committed and still in work
    handled = sorted(first.ended + second.ended)
    assert handled == [(tp, offset) for tp in (A, B) for offset in range(60)]


@pytest.mark.parametrize("semantics", [AutoCommit(Per.BATCH), AtLeastOnce(Per.BATCH)])
async def test_a_handler_may_have_whole_batches(semantics: Semantics) -> None:
    broker, got = stored(30), []

    async def handle(batch: Batch[Any, Any]) -> None:
        got.append(len(list(batch)))
        if batch.first == 20:
            raise Trouble

    options = {**options_of(semantics), "max_poll_records": 10}
    async with at_work(broker, handle, semantics, **options) as work:
        await work.ends()
        assert isinstance(work.error, Trouble)
    assert got == [10, 10, 10]
    assert at(broker) == 20


async def test_at_most_once_by_batch_loses_all_of_the_batch_in_hand() -> None:
    broker = stored(30)

    async def handle(batch: Batch[Any, Any]) -> None:
        if batch.first == 10:
            raise Trouble

    async with at_work(broker, handle, AtMostOnce(Per.BATCH), max_poll_records=10) as work:
        await work.ends()
    assert at(broker) == 20


async def test_a_plain_function_is_a_handler_too() -> None:
    got: list[int] = []

    def handle(record: Record[Any, Any]) -> None:
        got.append(record.offset)

    async with at_work(stored(5), handle) as work:
        await work.committed(5)
    assert got == [0, 1, 2, 3, 4]


# -- what the coordinator says to a commit -----------------------------------------------------


async def test_at_most_once_skips_what_may_be_committed() -> None:
    broker, handler = stored(4), Handler()
    broker.answers.lose(OffsetCommitRequest, where=lambda asked: offset_in(asked) == 2)
    async with at_work(broker, handler, AtMostOnce(), request_timeout=3.0) as work:
        await work.committed(4)
        assert handler.offsets() == [0, 2, 3]
        (report,) = work.told(ReportKind.SKIPPED)
        assert (report.tp, report.first, report.next_offset) == (A, 1, 2)
        assert report.token is not None


async def test_at_most_once_comes_back_to_what_was_refused() -> None:
    broker, handler = stored(4), Handler()
    code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    broker.answers.error(OffsetCommitRequest, code, where=lambda asked: offset_in(asked) == 2)
    async with at_work(broker, handler, AtMostOnce()) as work:
        await work.committed(4)
        assert handler.offsets() == [0, 1, 2, 3]
        assert [each.first for each in work.told(ReportKind.NOT_COMMITTED)] == [1]


async def test_at_least_once_goes_on_after_a_refused_commit() -> None:
    broker, handler = stored(4), Handler()
    code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    broker.answers.error(OffsetCommitRequest, code, where=lambda asked: offset_in(asked) == 2)
    async with at_work(broker, handler) as work:
        await work.committed(4)
        assert handler.offsets() == [0, 1, 2, 3]
        assert [each.first for each in work.told(ReportKind.NOT_COMMITTED)] == [1]


def offset_in(asked: OffsetCommitRequest) -> int:
    return asked.topics[0].partitions[0].committed_offset


# -- a success that comes too late -------------------------------------------------------------


async def test_a_late_success_is_reported_with_its_token_and_not_committed() -> None:
    broker, release = stored(3), anyio.Event()

    async def waits(record: Record[Any, Any]) -> None:
        if record.offset == 1 and not release.is_set():
            await release.wait()

    handler = Handler(waits)
    async with at_work(broker, handler, client_id="one") as work:
        await work.committed(1)
        before = work.consumer.membership
        broker.group("g").expire("one")
        lost = lambda: set(before.claims).isdisjoint(work.consumer.membership.claims)  # noqa: E731
        await until(lost, 60, "it hears of it")
        release.set()
        await work.committed(3)
        (report,) = work.told(ReportKind.LATE)
        assert (report.first, report.token) == (1, before.generation)
        assert handler.offsets() == [0, 1, 1, 2]


# -- life --------------------------------------------------------------------------------------


async def test_a_processor_runs_once() -> None:
    async with at_work(stored(1), Handler()) as work:
        await work.committed(1)
        with pytest.raises(Exception, match="runs once"):
            await work.processor.run()


async def test_closing_the_consumer_ends_it_and_what_was_not_handled_comes_again() -> None:
    broker, handler = stored(50), Handler(work=0.5)
    async with at_work(broker, handler) as work:
        await work.committed(2)
        work.consumer.close_soon()
        await work.ends()
        assert work.error is None
    assert at(broker) == len(handler.ended)


async def test_other_partitions_flow_while_one_is_busy() -> None:
    async def long(record: Record[Any, Any]) -> None:
        if record.partition == 0:
            await anyio.sleep(20)

    handler = Handler(long)
    async with at_work(stored(30, width=2), handler) as work:
        await work.committed(30, B, 15)
        assert handler.offsets(A) == []


async def test_the_outcome_of_each_commit_is_told_in_order() -> None:
    outcomes: list[CommitOutcome] = []
    semantics = InParallel(lanes=4, on_committed=outcomes.append)
    async with at_work(stored(30), Handler(), semantics) as work:
        await work.committed(30)
        await anyio.sleep(1)
    offsets = [each.partitions[A].offset.offset for each in outcomes]
    assert offsets == sorted(offsets)
    assert offsets[-1] == 30
