"""The end: nothing more is begun, work in hand is finished, commits are answered, one deadline."""

import os
import signal
from typing import Any

import anyio
import pytest

from kgroup.consumer import Record
from kgroup.processing import AtLeastOnce, AutoCommit, Drain, InParallel, Semantics
from kgroup.types import Leave
from kgroup.wire.messages import LeaveGroupRequest
from tests.contracts.application import until
from tests.processing.at_work import A, Handler, at, at_work, stored

pytestmark = pytest.mark.anyio

EACH = pytest.mark.parametrize("semantics", [AutoCommit(), AtLeastOnce(), InParallel()], ids=repr)


def auto(semantics: Semantics) -> dict[str, Any]:
    return {"enable_auto_commit": isinstance(semantics, AutoCommit)}


@EACH
async def test_what_is_in_work_is_finished_and_committed(semantics: Semantics) -> None:
    broker, handler = stored(100), Handler(work=2.0)
    async with at_work(broker, handler, semantics, **auto(semantics)) as work:
        await until(lambda: handler.begun, 60, "a record is in work")
        await anyio.sleep(0.5)
        begun = len(handler.begun)
        work.processor.stop()
        before = anyio.current_time()
        await work.ends()
        assert work.error is None
        assert anyio.current_time() - before < 5
        assert len(handler.ended) == len(handler.begun) == begun
        assert at(broker) == begun
        assert not broker.group("g").members


@EACH
async def test_a_handler_that_does_not_end_is_cut_off_at_the_deadline(semantics: Semantics) -> None:
    async def hangs(record: Record[Any, Any]) -> None:
        if record.offset == 3:
            await anyio.sleep(10**6)

    broker, handler = stored(4), Handler(hangs)
    drain = Drain(timeout=10.0)
    async with at_work(broker, handler, semantics, drain=drain, **auto(semantics)) as work:
        await until(lambda: len(handler.ended) == 3, 60, "three are done")
        before = anyio.current_time()
        work.processor.stop()
        await work.ends()
        assert 7 < anyio.current_time() - before <= 10
        assert work.error is None
    assert at(broker) == 3


async def test_a_member_may_remain() -> None:
    broker, handler = stored(10), Handler()
    async with at_work(broker, handler, drain=Drain(leave=Leave.REMAIN)) as work:
        await work.committed(10)
        work.processor.stop()
        await work.ends()
        assert broker.requests_of(LeaveGroupRequest) == []
        assert len(broker.group("g").members) == 1


async def test_a_signal_has_it_stop() -> None:
    broker, handler = stored(10), Handler()
    async with at_work(broker, handler, drain=Drain(signals=(signal.SIGTERM,))) as work:
        await work.committed(10)
        os.kill(os.getpid(), signal.SIGTERM)
        await work.ends()
        assert work.error is None
    assert not broker.group("g").members


async def test_stop_before_a_record_came_ends_at_once() -> None:
    broker = stored(0)
    async with at_work(broker, Handler()) as work:
        await until(lambda: work.consumer.owns(A), 60, "it owns")
        before = anyio.current_time()
        work.processor.stop()
        work.processor.stop()
        await work.ends()
        assert anyio.current_time() - before < 3
