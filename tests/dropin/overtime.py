"""A limit of time for each phase of a test, so that a read that hangs costs one test, not the run.

Decides: that the test is broken off from outside, wherever the main thread stands.
Never: works without signals (not on Windows, nor in another thread): then there is no limit.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Overtime(KeyboardInterrupt):
    """The time is over.

    An interrupt, because event loops and tests keep any other exception to themselves.
    """


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Break off what runs in the block.

    Args:
        seconds: how long it may take.

    Raises:
        Overtime: it took longer.
    """
    alarm = getattr(signal, "SIGALRM", None)
    if alarm is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    over = False

    def ring(_number: int, _frame: FrameType | None) -> None:
        if over:
            return
        raise Overtime(f"not done after {seconds:g} s")

    before = signal.signal(alarm, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        # 1. the block comes to its end, 2. it rings: in the inner one it still raises, and what
        # is outside of it still sees to it that the handler of before is back.
        try:
            yield
        finally:
            over = True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(alarm, before)
