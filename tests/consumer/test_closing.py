"""`close_soon` can be called from any thread, and closes on the event loop."""

import threading
from collections.abc import Callable

import anyio
import pytest

from kgroup.consumer.user_code import Closing
from kgroup.errors import ClosedError
from kgroup.journal import CallbackStage, CallbackStep, MemberStopped, OwnershipStep, Phase
from kgroup.types import ChangeKind, Leave, OwnershipChange
from tests.consumer.entered import A, Stage, entered, grouped, staged
from tests.consumer.ground import ground
from tests.consumer.shelf import Shelf, full

pytestmark = pytest.mark.anyio


def in_a_thread(ask: Callable[[], None]) -> None:
    """Ask in a thread; the call returns although the event loop is blocked here."""
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join(timeout=5.0)
    assert not thread.is_alive()


async def ask_in_a_thread(stage: Stage) -> None:
    in_a_thread(lambda: stage.consumer.close_soon(leave=Leave.REMAIN))
    await anyio.sleep(0.1)


async def test_another_thread_can_end_a_loop_and_the_batch_in_hand_is_waited_for() -> None:
    async with entered(full(1), max_poll_records=10) as stage:
        await stage.give(A)
        count = 0
        async for batch in stage.consumer.batches():
            async with batch:
                count += len(batch)
                await (ask_in_a_thread(stage) if count == 20 else anyio.sleep(0.1))
        assert count == 20
    assert stage.group.left is Leave.REMAIN
    assert stage.group.offsets[A] == 20


async def test_another_thread_can_wake_a_reader_that_waits() -> None:
    async with entered(Shelf(t=1)) as stage, anyio.create_task_group() as tasks:

        async def read() -> None:
            with pytest.raises(ClosedError):
                await stage.consumer.getone()

        tasks.start_soon(read)
        await anyio.sleep(1)
        before = anyio.current_time()
        in_a_thread(stage.consumer.close_soon)
    assert anyio.current_time() - before < 1


async def test_its_own_loop_may_ask_too_and_close_waits_for_the_rest() -> None:
    async with entered(full(1)) as stage:
        await stage.give(A)
        stage.consumer.close_soon()
        assert stage.consumer.owns(A)  # nothing happens at the call
        await anyio.sleep(0.1)
        await stage.consumer.close()
        assert not stage.consumer.owns(A)


async def test_the_first_wish_counts() -> None:
    async with entered(full(1)) as stage:
        await stage.give(A)
        in_a_thread(lambda: stage.consumer.close_soon(leave=Leave.LEAVE))
        in_a_thread(lambda: stage.consumer.close_soon(leave=Leave.REMAIN))
        await anyio.sleep(1)
    assert stage.group.left is Leave.LEAVE


async def test_before_entering_and_after_the_end_it_does_nothing() -> None:
    stage = staged(Shelf(t=1), "t")
    stage.consumer.close_soon()
    async with stage.consumer:
        assert await stage.consumer.getmany() == {}
    stage.consumer.close_soon()
    in_a_thread(stage.consumer.close_soon)


def test_a_wish_after_the_loop_is_over_does_nothing() -> None:
    for backend in ("asyncio", "trio"):
        closing, called = Closing(), []

        async def enter(closing: Closing = closing) -> None:
            closing.enter()

        anyio.run(enter, backend=backend)
        closing.soon(lambda: called.append("called"))  # noqa: B023 - it must not be called
        assert called == []


async def test_closing_after_a_failure_waits_for_the_listener_that_runs() -> None:
    heard: list[str] = []

    class Slow:
        async def on_lost(self, _consumer: object, _change: OwnershipChange) -> None:
            await anyio.sleep(1.0)
            heard.append("all of it")

    broker = ground(t=1)
    async with grouped(broker, listener=Slow(), group_instance_id="i") as stage:
        await stage.owns(A)
        broker.group("g").fence("i")
        with anyio.fail_after(30):
            while stage.consumer.failure is None:  # noqa: ASYNC110  # nothing rings
                await anyio.sleep(0.01)
        assert heard == []
        await stage.consumer.close()
        assert heard == ["all of it"]


async def test_a_listener_that_closing_breaks_off_has_raised_before_the_member_stops() -> None:
    class Slow:
        async def on_revoked(self, _consumer: object, _change: OwnershipChange) -> None:
            await anyio.sleep(60.0)

    async with grouped(ground(t=1), listener=Slow()) as stage:
        await stage.owns(A)
        await stage.consumer.close(timeout=2.0)
        events = stage.sink.events
        raised, ended, stopped = (
            next(n for n, each in enumerate(events) if happened(each))
            for happened in (
                lambda e: isinstance(e, CallbackStep) and e.stage is CallbackStage.RAISE,
                lambda e: (
                    isinstance(e, OwnershipStep)
                    and (e.kind, e.phase) == (ChangeKind.REVOKED, Phase.END)
                ),
                lambda e: isinstance(e, MemberStopped),
            )
        )
        assert raised < ended < stopped
