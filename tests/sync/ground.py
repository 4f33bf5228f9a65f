"""Helpers for tests of blocking consumers: an in-process Kafka with sockets, in real time."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from kgroup.sync import Consumer
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition

PATIENCE = 15.0
_LOOK_AGAIN = 0.005

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Ground:
    """A cluster with topic `t`, and consumers of it."""

    def __init__(self, broker: InProcessBroker, servers: str) -> None:
        self.broker = broker
        self.servers = servers

    def write(self, tp: TopicPartition, count: int) -> None:
        """Write records whose values are their offsets."""
        log = self.broker.partition(*tp)
        log.append(*(str(offset) for offset in range(log.end, log.end + count)))

    def consumer(self, *topics: str, **options: Any) -> Consumer[bytes | None, bytes | None]:
        """Return a consumer that reads from the beginning; not entered."""
        quick = {"fetch_max_wait": 0.02, "retry_backoff": 0.01}
        chosen = {"auto_offset_reset": "earliest", **quick, **options}
        return Consumer(*topics, bootstrap_servers=self.servers, **chosen)

    @contextmanager
    def by_hand(
        self, *tps: TopicPartition, **options: Any
    ) -> Iterator[Consumer[bytes | None, bytes | None]]:
        """Yield a consumer with partitions assigned by hand, and their positions known."""
        with self.consumer(**options) as consumer:
            consumer.assign(tps)
            for tp in tps:
                consumer.position(tp)
            yield consumer


@contextmanager
def grounded(count: int = 0, *, partitions: int = 1) -> Iterator[Ground]:
    """Serve a cluster with so many records in each partition of topic `t`."""
    broker = InProcessBroker(topics={"t": partitions})
    with broker.serve() as served:
        ground = Ground(broker, served.bootstrap)
        for number in range(partitions if count else 0):
            ground.write(TopicPartition("t", number), count)
        yield ground


@contextmanager
def in_thread(work: Callable[[], object]) -> Iterator[list[object]]:
    """Run something in a thread while a block runs; what came of it is in the list afterwards."""
    came: list[object] = []

    def run() -> None:
        try:
            came.append(work())
        except Exception as error:  # noqa: BLE001 - it is looked at
            came.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield came
    finally:
        thread.join(10)
        assert not thread.is_alive()


def until(is_so: Callable[[], object]) -> None:
    """Poll until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"waited {PATIENCE:g} s in vain"
        time.sleep(_LOOK_AGAIN)


def until_waiting(consumer: Consumer[Any, Any], count: int) -> None:
    """Wait until so many other threads are inside reads that have begun on the event loop."""
    until(lambda: _waiting_threads() == count)
    consumer.assignment()  # asked after theirs, so it is answered when theirs have begun


def _waiting_threads() -> int:
    mine, frames = threading.get_ident(), sys._current_frames()
    return sum(_is_waiting(frame) for thread, frame in frames.items() if thread != mine)


def _is_waiting(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "wait" and "handover" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


@contextmanager
def interrupting(first: float, interval: float = 0.0) -> Iterator[list[int]]:
    """Press Ctrl-C in the main thread after so many seconds, as long as it waits for an answer.

    Anywhere else it is not pressed: elsewhere the consumer promises nothing.
    """
    pressed = [0]
    over = False

    def press(number: int, frame: FrameType | None) -> None:
        if over:  # 1. it rings, 2. the block ends, 3. this is called: no thread waits any more
            return
        if frame is not None and frame.f_code.co_name == "wait":
            pressed[0] += 1
            raise KeyboardInterrupt
        if not interval:
            signal.setitimer(signal.ITIMER_REAL, _LOOK_AGAIN)

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, first, interval)
    try:
        yield pressed
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
