"""Callbacks run in a thread of the application that is inside a call."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kgroup.errors import ArgumentError, IllegalStateError
from kgroup.sync import Consumer
from kgroup.types import CommitOutcome, OwnershipChange
from tests.sync.ground import A, B, grounded, in_thread


class Hearing:
    """A listener that notes its calls and their threads, and acts in each call."""

    def __init__(self, act: Callable[[Any], object] = lambda consumer: None) -> None:
        self.heard: list[str] = []
        self.threads: set[str] = set()
        self.came: list[object] = []
        self._act = act

    def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self._note("assigned", consumer)

    def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        self._note("revoked", consumer)

    def _note(self, what: str, consumer: Consumer[Any, Any]) -> None:
        self.heard.append(what)
        self.threads.add(threading.current_thread().name)
        try:
            self.came.append(self._act(consumer))
        except IllegalStateError as error:
            self.came.append(error)


def test_a_listener_runs_in_the_thread_that_reads_or_closes() -> None:
    hearing = Hearing()
    with grounded(1) as ground:
        with ground.consumer("t", group_id="g", listener=hearing) as consumer:
            consumer.getone(timeout=10)
            assert hearing.heard == ["assigned"]
        assert hearing.heard == ["assigned", "revoked"]
    assert hearing.threads == {threading.current_thread().name}


def test_a_listener_may_ask_and_commit() -> None:
    hearing = Hearing(lambda consumer: consumer.commit({A: consumer.position(A)}))
    with grounded(1) as ground:
        with ground.consumer("t", group_id="g", listener=hearing) as consumer:
            consumer.getone(timeout=10)
        assert [isinstance(each, CommitOutcome) and each.ok for each in hearing.came] == [True] * 2
        assert ground.broker.group("g").offsets[A].offset == 1


def test_a_listener_may_not_read() -> None:
    hearing = Hearing(lambda consumer: consumer.getone())
    with grounded(1) as ground:
        with ground.consumer("t", group_id="g", listener=hearing) as consumer:
            assert consumer.getone(timeout=10).offset == 0
        assert "inside a listener" in str(hearing.came[0])


def test_a_listener_that_closes_ends_the_loop() -> None:
    hearing = Hearing(lambda consumer: consumer.close())
    with grounded(1) as ground:
        with ground.consumer("t", group_id="g", listener=hearing) as consumer:
            assert len(list(consumer)) <= 1
        assert hearing.heard == ["assigned", "revoked"]


def test_an_exception_of_a_listener_is_raised_by_one_read() -> None:
    def fail(consumer: object) -> None:
        raise LookupError("no such thing")

    with grounded(1) as ground:
        consumer = ground.consumer("t", group_id="g", listener=Hearing(fail))
        with consumer:
            with pytest.raises(LookupError):
                consumer.getone(timeout=10)
            assert consumer.getone(timeout=10).offset == 0


def test_an_async_listener_is_refused() -> None:
    class Wrong:
        async def on_assigned(self, consumer: object, change: object) -> None: ...

    with pytest.raises(ArgumentError, match="plain on_assigned"):
        Consumer("t", group_id="g", listener=Wrong())  # type: ignore[call-overload]


def test_a_callback_of_a_commit_runs_before_a_commit_behind_it_is_answered() -> None:
    threads: list[str] = []

    def note(outcome: CommitOutcome) -> None:
        threads.append(threading.current_thread().name)

    with grounded(1) as ground, ground.by_hand(A, group_id="g") as consumer:
        consumer.commit_soon({A: 1}, note)
        consumer.commit({A: 1})
        assert threads == [threading.current_thread().name]


def test_a_partition_is_handed_back_although_a_loop_has_read_ahead() -> None:
    """The loop has read hundreds of records ahead; a joining member does not wait for them."""
    with grounded(400, partitions=2) as ground:
        options = {"group_id": "g", "assignors": ["cooperative-sticky"], "heartbeat_interval": 0.1}
        first, second = ground.consumer("t", **options), ground.consumer("t", **options)
        pause, seen = threading.Event(), {A: 0, B: 0}

        def read() -> int:
            with second:
                return second.getone(timeout=20).offset

        with first, in_thread(read) as came:
            records = iter(first)
            while not came:
                record = next(records)
                seen[record.tp] = record.offset + 1
                pause.wait(0.02)
        assert isinstance(came[0], int)
        assert came[0] in seen.values()
        assert sum(seen.values()) < 800


@pytest.mark.slow
def test_on_lost_runs_before_the_next_record_after_a_long_pause() -> None:
    """1. The application does not read for max_poll_interval, and the member is expelled; 2. the
    time for its listener is over, too; 3. the application reads again."""

    class Losing(Hearing):
        def on_lost(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
            self._note("lost", consumer)

    hearing = Losing()
    with grounded(5) as ground:
        times = {"max_poll_interval": 0.5, "heartbeat_interval": 0.1, "lease_margin": 0.05}
        with ground.consumer("t", group_id="g", listener=hearing, **times) as consumer:
            consumer.getone(timeout=10)
            threading.Event().wait(1.3)
            assert hearing.heard == ["assigned"]
            with suppress(TimeoutError):  # raised for the callback that was late
                consumer.getone(timeout=10)
            assert hearing.heard[:2] == ["assigned", "lost"]
            assert consumer.getone(timeout=10).offset in {0, 1}
