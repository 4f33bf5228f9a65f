"""A blocked read ends when it is woken or interrupted, once, and nothing is lost."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from types import FrameType
from typing import Any

import pytest

from kgroup.errors import WakeupError
from kgroup.sync import Consumer
from tests.sync.ground import A, grounded, in_thread, interrupting, until_waiting


def test_a_blocked_read_is_woken_from_another_thread() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        timer = threading.Timer(0.05, consumer.wakeup)
        timer.start()
        with pytest.raises(WakeupError):
            consumer.getone()
        timer.join()


def test_one_wakeup_ends_one_read() -> None:
    with grounded(1) as ground, ground.by_hand(A) as consumer:
        consumer.wakeup()
        with pytest.raises(WakeupError):
            next(iter(consumer))
        assert next(iter(consumer)).offset == 0


def test_a_wakeup_before_the_consumer_is_entered_counts() -> None:
    with grounded(1) as ground:
        consumer = ground.consumer()
        consumer.wakeup()
        with consumer, pytest.raises(WakeupError):
            consumer.getmany()


@contextmanager
def on_alarm(act: Callable[[], None]) -> Iterator[None]:
    """Have a signal handler do something soon."""

    def handle(number: int, frame: FrameType | None) -> None:
        act()

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_may_wake() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        batches = consumer.batches()
        with on_alarm(consumer.wakeup), pytest.raises(WakeupError):
            next(batches)


def test_a_signal_handler_may_close() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer, on_alarm(consumer.close_soon):
        assert list(consumer) == []


def test_every_read_that_waits_is_woken() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        with in_thread(consumer.getone) as one, in_thread(consumer.getone) as other:
            until_waiting(consumer, 2)  # a wakeup before that ends one of them
            consumer.wakeup()
        assert [type(each) for each in one + other] == [WakeupError, WakeupError]


def test_ctrl_c_ends_a_blocked_read_and_the_consumer_goes_on() -> None:
    with grounded() as ground, ground.by_hand(A) as consumer:
        with interrupting(0.05), pytest.raises(KeyboardInterrupt):
            consumer.getone()
        ground.write(A, 1)
        assert consumer.getone(timeout=5).offset == 0


def stubborn(consumer: Consumer[Any, Any], count: int) -> list[int]:
    """Read on after each Ctrl-C; return the offsets."""
    seen: list[int] = []
    while len(seen) < count:
        with suppress(KeyboardInterrupt):
            seen.append(consumer.getone(timeout=5).offset)
    return seen


@pytest.mark.slow
def test_records_that_arrive_while_ctrl_c_is_pressed_are_not_lost() -> None:
    """Records and interruptions arrive as close together as possible."""
    with grounded() as ground, ground.by_hand(A) as consumer:
        over = threading.Event()

        def write() -> None:
            for _ in range(60):
                ground.write(A, 1)
                over.wait(0.004)

        with in_thread(write), interrupting(0.001, 0.0073) as pressed:
            assert stubborn(consumer, 60) == list(range(60))
        assert pressed[0]


def test_a_loop_that_is_interrupted_goes_on_with_the_next_record() -> None:
    with grounded(3) as ground, ground.by_hand(A) as consumer:
        records = consumer.records()
        assert [record.offset for record in islice(records, 3)] == [0, 1, 2]
        with interrupting(0.05), pytest.raises(KeyboardInterrupt):
            next(records)
        ground.write(A, 1)
        assert next(records).offset == 3
