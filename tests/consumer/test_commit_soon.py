"""Commits without waiting: in order, each callback once, and over when the consumer is closed."""

import logging
import random
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import ArgumentError, ClosedError, IllegalStateError, NotOwnedError
from kgroup.types import CommitOutcome, CommitStatus, OwnershipChange
from kgroup.wire.messages import OffsetCommitRequest
from tests.consumer.entered import A, B, Stage, by_hand, entered
from tests.consumer.shelf import full

pytestmark = pytest.mark.anyio

MANUAL: dict[str, Any] = {"enable_auto_commit": False}


class Callbacks:
    """Callbacks that write down their outcomes."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[object, CommitOutcome]] = []

    def note(self, label: object) -> Callable[[CommitOutcome], None]:
        return lambda outcome: self.outcomes.append((label, outcome))

    @property
    def labels(self) -> list[object]:
        return [label for label, _ in self.outcomes]

    @property
    def offsets(self) -> list[int]:
        return [outcome.partitions[A].offset.offset for _, outcome in self.outcomes]

    @property
    def statuses(self) -> list[CommitStatus]:
        return [outcome.partitions[A].status for _, outcome in self.outcomes]


async def test_commit_soon_returns_at_once_and_calls_back_once() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 2.0
        before = anyio.current_time()
        stage.consumer.commit_soon({A: 7}, calls.note("it"))
        assert anyio.current_time() == before
        assert calls.outcomes == []
        await anyio.sleep(3)
        assert (calls.labels, calls.offsets) == (["it"], [7])
        assert calls.statuses == [CommitStatus.COMMITTED]
        assert stage.group.offsets == {A: 7}
    assert len(calls.outcomes) == 1


async def test_commits_of_a_partition_are_carried_out_in_the_order_of_calls() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 0.5
        dice = random.Random(4)
        asked = [dice.randrange(50) for _ in range(40)]
        for offset in asked:
            stage.consumer.commit_soon({A: offset}, calls.note(offset))
            if dice.random() < 0.3:
                await anyio.sleep(dice.random())
            if dice.random() < 0.2:
                await stage.consumer.commit({A: offset + 1})
                assert stage.group.offsets[A] == offset + 1
        await anyio.sleep(5)
        assert stage.group.offsets[A] == asked[-1]
        assert calls.labels == calls.offsets == asked


async def test_a_commit_comes_after_earlier_commit_soon_calls() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 1.0
        stage.consumer.commit_soon({A: 30}, calls.note("first"))
        await anyio.sleep(0.5)
        stage.consumer.commit_soon({A: 20}, calls.note("second"))
        assert (await stage.consumer.commit({A: 10})).ok
        assert stage.group.offsets[A] == 10
        assert stage.group.commits[-1] == {A: 10}
        await anyio.sleep(0.1)
        assert calls.labels == ["first", "second"]


async def test_a_commit_does_not_wait_for_the_answer_of_the_one_before_it() -> None:
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A, B)
        stage.group.commit_seconds = 1.0
        stage.consumer.commit_soon({A: 1})
        await anyio.sleep(0.1)
        before = anyio.current_time()
        await stage.consumer.commit({B: 1})
        assert anyio.current_time() - before < 1.2


async def test_a_commit_after_every_record_costs_one_request_per_round_trip() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_seconds = 1.0
        records = aiter(stage.consumer)
        for _ in range(50):
            record = await anext(records)
            stage.consumer.commit_soon(record, calls.note(record.offset))
            await anyio.sleep(0.1)
        await anyio.sleep(3)
        assert calls.labels == list(range(50))
        assert calls.offsets == list(range(1, 51))
        assert stage.group.offsets[A] == 50
        assert len(stage.group.commits) < 10


async def test_without_arguments_everything_handed_out_is_committed() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.consumer.commit_soon(callback=calls.note("position"))
        await stage.consumer.getmany(max_records=9, timeout=1)
        stage.consumer.commit_soon(callback=calls.note("nine"))
        stage.consumer.commit_soon(callback=calls.note("again"))
        await anyio.sleep(1)
        assert stage.group.offsets == {A: 9}
        assert calls.labels == ["position", "nine", "again"]
    assert all(outcome.ok for _, outcome in calls.outcomes)


async def test_a_callback_may_be_awaitable_and_the_next_waits_for_it() -> None:
    heard = []

    async def slowly(outcome: CommitOutcome) -> None:
        await anyio.sleep(5)
        heard.append(("slow", anyio.current_time()))

    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.consumer.commit_soon({A: 1}, slowly)
        stage.consumer.commit_soon({A: 2}, lambda _: heard.append(("fast", anyio.current_time())))
        await anyio.sleep(1)
        assert stage.group.offsets[A] == 2  # commits do not wait for callbacks
        await anyio.sleep(10)
        assert [name for name, _ in heard] == ["slow", "fast"]


async def test_a_callback_may_commit_and_ask_the_consumer() -> None:
    seen = []

    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)

        async def more(outcome: CommitOutcome) -> None:
            await stage.consumer.commit({A: 9})
            seen.append(await stage.consumer.position(A))
            stage.consumer.commit_soon({A: 11})
            with pytest.raises(IllegalStateError, match="commit_soon"):
                await stage.consumer.getone()
            await stage.consumer.close()

        stage.consumer.commit_soon({A: 1}, more)
        await anyio.sleep(1)
        with pytest.raises(ClosedError):
            await stage.consumer.getone()
        await stage.consumer.close()
    assert seen == [0]
    assert stage.group.offsets[A] == 11


@pytest.mark.parametrize("awaitable", [False, True])
async def test_an_exception_of_a_callback_is_raised_once_by_the_next_read(awaitable: bool) -> None:
    def fail(outcome: CommitOutcome) -> None:
        raise KeyError("mine")

    async def fail_later(outcome: CommitOutcome) -> None:
        await anyio.sleep(1)
        raise KeyError("mine")

    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.consumer.commit_soon({A: 1}, fail_later if awaitable else fail)
        stage.consumer.commit_soon({A: 2}, calls.note("next"))
        await anyio.sleep(2)
        assert calls.labels == ["next"]
        with pytest.raises(KeyError, match="mine"):
            await stage.consumer.getmany(timeout=1)
        assert await stage.consumer.getmany(timeout=1) != {}


async def test_a_callback_that_never_returns_is_cut_after_max_poll_interval() -> None:
    async def stuck(outcome: CommitOutcome) -> None:
        await anyio.sleep_forever()

    calls = Callbacks()
    async with entered(full(), max_poll_interval=60.0, **MANUAL) as stage:
        await stage.give(A)
        stage.consumer.commit_soon({A: 1}, stuck)
        stage.consumer.commit_soon({A: 2}, calls.note("next"))
        await anyio.sleep(59)
        assert calls.labels == []
        await anyio.sleep(2)
        assert calls.labels == ["next"]
        with pytest.raises(TimeoutError, match="commit_soon"):
            await stage.consumer.getmany(timeout=1)


async def test_a_refused_commit_soon_calls_back_and_raises_nothing() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_status = CommitStatus.REFUSED
        stage.consumer.commit_soon({A: 1}, calls.note("it"))
        await anyio.sleep(1)
        assert calls.statuses == [CommitStatus.REFUSED]
        assert await stage.consumer.getmany(timeout=1) != {}


async def test_a_failed_commit_without_a_callback_is_logged_once_per_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        stage.group.commit_status = CommitStatus.UNKNOWN
        with caplog.at_level(logging.WARNING, logger="kgroup"):
            for offset in range(5):
                stage.consumer.commit_soon({A: offset})
                await anyio.sleep(1)
    assert caplog.text.count("commit_soon partitions=t-0 unknown") == 1


async def test_an_invalid_commit_soon_is_refused_at_the_call() -> None:
    calls = Callbacks()
    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        with pytest.raises(NotOwnedError):
            stage.consumer.commit_soon({B: 1}, calls.note("never"))
        with pytest.raises(ArgumentError):
            stage.consumer.commit_soon({A: -1}, calls.note("never"))
        with pytest.raises(ArgumentError, match="callback"):
            stage.consumer.commit_soon({A: 1}, "callback")  # type: ignore[arg-type]
        await anyio.sleep(1)
    assert (stage.group.commits, calls.outcomes) == ([], [])


# -- the end -----------------------------------------------------------------------------------


async def test_closing_waits_for_answers_and_callbacks() -> None:
    calls = Callbacks()

    async def slowly(outcome: CommitOutcome) -> None:
        await anyio.sleep(1)
        calls.note("slow")(outcome)

    async with by_hand(full(), A, **MANUAL) as stage:
        await stage.consumer.getone(timeout=1)
        stage.consumer.commit_soon({A: 1}, slowly)
        stage.consumer.commit_soon({A: 2}, calls.note("last"))
        await stage.consumer.close()
        assert calls.labels == ["slow", "last"]
        assert calls.statuses == [CommitStatus.COMMITTED] * 2
        with pytest.raises(ClosedError):
            stage.consumer.commit_soon({A: 3}, calls.note("never"))


async def test_closing_tells_everybody_when_no_answer_comes() -> None:
    calls = Callbacks()
    shelf = full()
    async with by_hand(shelf, A, **MANUAL) as stage:
        await stage.consumer.getone(timeout=1)
        shelf.broker(1).hold(OffsetCommitRequest)
        stage.consumer.commit_soon({A: 1}, calls.note("sent"))
        await anyio.sleep(0.5)
        stage.consumer.commit_soon({A: 2}, calls.note("in line"))
        before = anyio.current_time()
        await stage.consumer.close(timeout=3.0)
        assert anyio.current_time() - before <= 3.5
        assert calls.labels == ["sent", "in line"]
        assert calls.statuses == [CommitStatus.UNKNOWN, CommitStatus.REFUSED]


async def test_closing_cuts_callbacks_that_wait_but_calls_each() -> None:
    called = []

    async def stuck(outcome: CommitOutcome) -> None:
        called.append("stuck")
        await anyio.sleep_forever()

    async with by_hand(full(), A, **MANUAL) as stage:
        await stage.consumer.getone(timeout=1)
        for _ in range(3):
            stage.consumer.commit_soon({A: 1}, stuck)
        stage.consumer.commit_soon({A: 2}, lambda _: called.append("plain"))
        before = anyio.current_time()
        await stage.consumer.close(timeout=3.0)
        assert anyio.current_time() - before <= 3.5
    assert called == ["stuck", "stuck", "stuck", "plain"]


async def test_a_callback_that_asks_again_is_refused_in_the_end() -> None:
    shelf, heard = full(), []
    async with by_hand(shelf, A, **MANUAL) as stage:
        await stage.consumer.getone(timeout=1)
        shelf.broker(1).hold(OffsetCommitRequest)

        def again(outcome: CommitOutcome) -> None:
            heard.append(outcome)
            with pytest.raises(ClosedError):
                stage.consumer.commit_soon({A: 1}, again)

        stage.consumer.commit_soon({A: 1}, again)
        await stage.consumer.close(timeout=3.0)
    assert len(heard) == 1


async def test_a_waiting_commit_ends_when_the_consumer_does() -> None:
    shelf = full()
    async with by_hand(shelf, A, **MANUAL) as stage, anyio.create_task_group() as tasks:
        await stage.consumer.getone(timeout=1)
        shelf.broker(1).hold(OffsetCommitRequest)
        ended = []

        async def commit() -> None:
            with pytest.raises(Exception, match="closed before the answer"):
                await stage.consumer.commit({A: 1})
            ended.append(anyio.current_time())

        tasks.start_soon(commit)
        await anyio.sleep(1)
        await stage.consumer.close(timeout=2.0)
        await anyio.sleep(0.1)
        assert ended


async def test_a_revocation_waits_only_for_commits_of_its_own_partitions() -> None:
    class Giving:
        def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            consumer.commit_soon({A: 5})

    async with entered(full(), listener=Giving(), **MANUAL) as stage:
        await stage.give(A, B)
        await settle_while_others_commit(stage)
        assert stage.group.offsets[A] == 5


async def settle_while_others_commit(stage: Stage) -> None:
    """Take A away while commits of B never cease."""
    stage.group.commit_seconds = 1.0
    async with anyio.create_task_group() as tasks:

        async def go_on() -> None:
            for offset in range(1000):
                stage.consumer.commit_soon({B: offset})
                await anyio.sleep(0.3)

        tasks.start_soon(go_on)
        stage.group.take_away(A)
        await anyio.sleep(0.9)
        assert stage.consumer.owns(A)  # its commit is not answered yet
        await anyio.sleep(2)
        assert not stage.consumer.owns(A)
        tasks.cancel_scope.cancel()


async def test_callbacks_that_fail_alike_are_reported_once() -> None:
    def fails(_: CommitOutcome) -> None:
        raise RuntimeError("the store is away")

    async with entered(full(), **MANUAL) as stage:
        await stage.give(A)
        for offset in range(1, 6):
            stage.consumer.commit_soon({A: offset}, fails)
            await anyio.sleep(0.1)
        with pytest.raises(RuntimeError, match="the store is away"):
            await stage.consumer.getone(timeout=1)
        await stage.consumer.getone(timeout=1)
