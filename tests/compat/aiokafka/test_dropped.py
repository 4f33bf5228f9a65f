"""A facade that is dropped without a stop says so once, and ends in silence."""

import asyncio
import gc
import warnings
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kgroup.compat.aiokafka import AIOKafkaConsumer
from kgroup.testing.virtual_time import VirtualLoop
from tests.compat.aiokafka.ground import broker_with, made, until

pytestmark = pytest.mark.anyio


def drop(held: list[AIOKafkaConsumer]) -> None:
    """Let go of a consumer that nobody else holds."""
    alive = weakref.ref(held[0])
    with pytest.warns(ResourceWarning, match="Unclosed AIOKafkaConsumer"):
        held.clear()
    gc.collect()
    assert alive() is None  # not before: a warning that is kept has hold of what it is about


async def test_a_consumer_that_is_dropped_says_so_and_ends_in_silence() -> None:
    broker = broker_with()
    messages: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: messages.append(context["message"]))
    before = asyncio.all_tasks()
    held = [made(broker, "t")]
    await held[0].start()
    await held[0].getone()
    await asyncio.sleep(0)
    drop(held)
    await until(lambda: not broker.group("g").members, within=5)
    await until(lambda: asyncio.all_tasks() == before, within=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()
    assert messages == ["Unclosed AIOKafkaConsumer"]
    loop.set_exception_handler(None)


async def test_a_reader_that_was_cancelled_keeps_no_consumer_alive() -> None:
    held = [made(broker_with(0), "t")]
    await held[0].start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(held[0].getone(), 1)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    drop(held)
    await asyncio.sleep(3)
    asyncio.get_running_loop().set_exception_handler(None)


async def test_a_consumer_that_could_not_be_made_says_nothing() -> None:
    with pytest.raises(ValueError, match="max_poll_records"):
        made(broker_with(), "t", max_poll_records=0)
    gc.collect()


def test_a_loop_that_is_closed_is_not_asked_for_a_last_word() -> None:
    broker, loop = broker_with(), VirtualLoop()

    async def make() -> AIOKafkaConsumer:
        return made(broker, "t")

    held = [loop.run_until_complete(make())]
    loop.run_until_complete(held[0].start())
    loop.run_until_complete(_all_have_begun())
    loop.set_exception_handler(lambda *_: None)
    loop.run_until_complete(_cancel_all())
    loop.close()
    drop(held)


async def _all_have_begun() -> None:
    # Of a task that is cancelled before its first step anyio leaves the coroutine unawaited, and
    # Python warns of it.
    await asyncio.sleep(1)


async def _cancel_all() -> None:
    """End every other task, as `asyncio.run` does."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_end_of_the_program_ends_a_consumer_that_was_forgotten() -> None:
    def run(main: Callable[[], Coroutine[Any, Any, AIOKafkaConsumer]]) -> AIOKafkaConsumer:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(main())

    broker = broker_with()

    async def main() -> AIOKafkaConsumer:
        consumer = made(broker, "t")
        await consumer.start()
        await _all_have_begun()
        return consumer

    consumer = await asyncio.to_thread(run, main)
    await consumer.stop()
