"""`start` and `stop`: a consumer that is started in one task and stopped in another."""

import gc
import warnings
from collections.abc import Awaitable, Callable

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import ClosedError, GroupError, IllegalStateError, NoBrokerError
from kgroup.journal import MemberStopped
from kgroup.testing import InProcessBroker
from kgroup.types import Leave, OwnershipChange
from tests.consumer.entered import GROUP, A, Stage, config_for, staged
from tests.consumer.shelf import Shelf, full

pytestmark = pytest.mark.anyio


async def in_another_task(function: Callable[[], Awaitable[object]]) -> None:
    """Await a function in a task of its own, as fixtures and lifespans are."""

    async def call() -> None:
        await function()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)


def connections(stage: Stage) -> int:
    return sum(len(broker.connections()) for broker in stage.shelf.brokers)


def unreachable() -> Stage:
    shelf = Shelf(brokers=1, t=1)
    shelf.broker(1).go_down()
    return staged(shelf, "t", bootstrap_timeout=30.0)


async def test_a_consumer_started_in_one_task_is_read_in_another_and_stopped_in_a_third() -> None:
    broker = InProcessBroker(topics={"t": 1})
    broker.partition("t").append("a")
    consumer = Consumer("t", config=config_for(broker, **GROUP))
    await in_another_task(consumer.start)
    assert (await consumer.getone(timeout=30)).value == b"a"
    await in_another_task(consumer.stop)
    with pytest.raises(ClosedError):
        await consumer.getone()


async def test_stop_commits_leaves_and_closes_every_socket() -> None:
    stage = staged(full(), "t", auto_commit_interval=1000)
    await in_another_task(stage.consumer.start)
    await stage.give(A)
    for _ in range(2):
        await stage.consumer.getmany(max_records=10, timeout=1)
    await in_another_task(stage.consumer.stop)
    assert stage.group.offsets[A] == 10
    assert stage.group.left is Leave.DEFAULT
    assert not connections(stage)


async def test_stop_twice_and_at_once_is_stop_once() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.consumer.stop)
        tasks.start_soon(stage.consumer.stop)
    await stage.consumer.stop()
    assert len(stage.events(MemberStopped)) == 1


async def test_stop_before_start_does_nothing() -> None:
    stage = staged(full(), "t")
    await stage.consumer.stop()
    await stage.consumer.start()
    await stage.consumer.stop()


async def test_start_twice_is_refused_and_the_consumer_goes_on() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    with pytest.raises(IllegalStateError, match="once"):
        await stage.consumer.start()
    with pytest.raises(IllegalStateError, match="once"):
        async with stage.consumer:
            pytest.fail("entered")
    await stage.give(A)
    assert (await stage.consumer.getone(timeout=1)).offset == 0
    await stage.consumer.stop()


async def test_a_start_that_fails_says_why_and_leaves_nothing_running() -> None:
    stage = unreachable()
    with pytest.raises(NoBrokerError, match="refuses"):
        await stage.consumer.start()
    assert "closed" in repr(stage.consumer)
    await stage.consumer.stop()


async def test_a_start_that_is_cancelled_returns_soon_and_leaves_nothing_running() -> None:
    stage = unreachable()
    with anyio.move_on_after(1) as scope:
        await stage.consumer.start()
    assert scope.cancelled_caught
    assert anyio.current_time() < 4
    assert "closed" in repr(stage.consumer)
    assert not connections(stage)


async def test_a_start_that_is_stopped_ends_soon() -> None:
    stage = unreachable()
    async with anyio.create_task_group() as tasks:

        async def start() -> None:
            with pytest.raises(ClosedError):
                await stage.consumer.start()

        tasks.start_soon(start)
        await anyio.sleep(1)
        await stage.consumer.stop()
    assert anyio.current_time() < 10


class Stuck:
    async def on_revoked(self, _consumer: object, _change: OwnershipChange) -> None:
        await anyio.sleep_forever()


async def test_stop_returns_in_time_whatever_a_listener_does() -> None:
    stage = staged(full(), "t", listener=Stuck())
    await stage.consumer.start()
    await stage.give(A)
    before = anyio.current_time()
    await stage.consumer.stop(timeout=3.0)
    assert anyio.current_time() - before <= 4.5


async def test_a_stop_that_is_cancelled_still_ends_the_consumer() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await stage.consumer.stop()
    await stage.consumer.stop()
    assert stage.group.left is Leave.DEFAULT


class Stopping:
    async def on_assigned(self, consumer: Consumer[bytes, bytes], _change: OwnershipChange) -> None:
        await consumer.stop()


async def test_stop_inside_a_listener_asks_for_the_end_and_returns() -> None:
    stage = staged(full(), "t", listener=Stopping())
    await stage.consumer.start()
    stage.group.give(A)
    assert [each async for each in stage.consumer.batches()] == []
    await stage.consumer.stop()
    assert anyio.current_time() < 5


async def test_what_the_group_refuses_is_raised_by_readers_and_not_by_stop() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    stage.group.fail(GroupError("the test ends it"))
    with pytest.raises(GroupError, match="the test ends it"):
        await stage.consumer.getone(timeout=10)
    await stage.consumer.stop()


async def test_what_nobody_foresaw_is_raised_by_readers_and_by_stop() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    stage.group.fail(KeyError("a bug"))
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True):
        await stage.consumer.getone(timeout=10)
    with pytest.RaisesGroup(KeyError, flatten_subgroups=True):
        await stage.consumer.stop()


async def test_a_consumer_that_is_dropped_warns_and_leaves_its_group() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    with pytest.warns(ResourceWarning, match="Unclosed consumer"):
        del stage.consumer
    await anyio.sleep(2)
    assert stage.group.left is Leave.DEFAULT
    assert not connections(stage)


async def test_a_consumer_that_was_asked_to_close_is_collected_without_a_warning() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    stage.consumer.close_soon()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del stage.consumer
        gc.collect()
    await anyio.sleep(1)
    assert stage.group.left is Leave.DEFAULT


async def test_a_consumer_that_was_stopped_is_collected_without_a_word() -> None:
    stage = staged(full(), "t")
    await stage.consumer.start()
    await stage.consumer.stop()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del stage.consumer
        gc.collect()
