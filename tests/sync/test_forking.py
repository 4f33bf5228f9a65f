"""A forked child cannot use a consumer of its parent, and does not disturb it."""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from kgroup.errors import IllegalStateError
from kgroup.sync import Consumer
from tests.sync.ground import A, Ground, grounded, in_thread

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def in_a_child(work: Callable[[], Any]) -> Any:
    """Return what something returns in a forked child, or the error it raises, as text."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: there are threads
        child = os.fork()
    if not child:
        try:
            os.write(writes, json.dumps(outcome(work)).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return json.loads(found)


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - it is looked at
        return f"{type(error).__name__}: {error}"


CALLS: dict[str, Callable[[Consumer[Any, Any]], Any]] = {
    "getmany": lambda consumer: len(consumer.getmany(timeout=5)),
    "getone": lambda consumer: consumer.getone(timeout=5).offset,
    "loop": lambda consumer: next(iter(consumer)).offset,
    "commit": lambda consumer: consumer.commit().ok,
    "position": lambda consumer: consumer.position(A),
    "seek": lambda consumer: consumer.seek(A, 3),
    "assignment": lambda consumer: len(consumer.assignment()),
    "again": lambda consumer: consumer.__enter__() is consumer,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_in_a_forked_child_is_refused_at_once(
    call: Callable[[Consumer[Any, Any]], Any],
) -> None:
    with grounded(5) as ground, ground.by_hand(A, group_id="g") as consumer:
        began = time.monotonic()
        answer = in_a_child(lambda: call(consumer))
        took = time.monotonic() - began
        assert consumer.getone(timeout=10).offset == 0
    assert str(answer).startswith(f"{IllegalStateError.__name__}: ")
    assert "entered once" in answer or f"of process {os.getpid()}" in answer
    assert took < 0.9  # without waiting for the thread


@pytest.mark.parametrize("call", ["getmany", "commit", "seek"])
def test_a_forked_child_does_not_wait_for_a_lock_of_the_parent(call: str) -> None:
    """A thread of the parent makes a record under the lock; the child has no such thread."""
    begun, go = threading.Event(), threading.Event()

    def slow(data: bytes | None) -> bytes | None:
        begun.set()
        go.wait(10)
        return data

    def ask() -> Any:
        signal.alarm(5)
        return CALLS[call](consumer)

    with (
        grounded(1) as ground,
        ground.by_hand(A, group_id="g", value=slow) as consumer,
        in_thread(lambda: next(iter(consumer)).offset) as came,
    ):
        assert begun.wait(10)
        answer = in_a_child(ask)
        go.set()
    assert str(answer).startswith("IllegalStateError: ")
    assert came == [0]


def test_a_loop_in_a_forked_child_hands_out_nothing() -> None:
    """Records read ahead are the parent's; two processes must not both handle them."""
    with grounded(5) as ground, ground.by_hand(A, group_id="g") as consumer:
        records = iter(consumer)
        assert next(records).offset == 0
        answer = in_a_child(lambda: next(records).offset)
        assert [next(records).offset for _ in range(4)] == [1, 2, 3, 4]
    assert str(answer).startswith("IllegalStateError: ")


def test_a_forked_child_that_closes_ends_nothing_of_the_parents() -> None:
    def close(consumer: Consumer[Any, Any]) -> str:
        consumer.wakeup()
        consumer.close_soon()
        consumer.__exit__(None, None, None)  # of the block that the parent is in
        return "closed"

    with grounded(5) as ground, ground.consumer("t", group_id="g") as consumer:
        assert consumer.getone(timeout=10).offset == 0
        assert in_a_child(lambda: close(consumer)) == "closed"
        assert [consumer.getone(timeout=10).offset for _ in range(4)] == [1, 2, 3, 4]
        assert len(ground.broker.group("g").members) == 1


def test_a_forked_child_makes_a_consumer_of_its_own() -> None:
    def read(ground: Ground) -> int:
        with ground.by_hand(A) as consumer:
            return consumer.getone(timeout=10).offset

    with grounded(5) as ground, ground.by_hand(A) as consumer:
        assert consumer.getone(timeout=10).offset == 0
        assert in_a_child(lambda: read(ground)) == 0
        assert consumer.getone(timeout=10).offset == 1


def test_a_consumer_that_is_not_entered_yet_can_be_entered_in_a_forked_child() -> None:
    def read(consumer: Consumer[Any, Any]) -> int:
        with consumer:
            consumer.assign([A])
            return consumer.getone(timeout=10).offset

    with grounded(5) as ground:
        consumer = ground.consumer()
        assert in_a_child(lambda: read(consumer)) == 0
