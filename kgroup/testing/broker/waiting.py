"""Waiting until a cluster is as a test wants it, in async tests and in plain ones.

Decides: that a wait has an end, and that who waited in vain is told what was there instead.
Never: changes the cluster.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import anyio

from kgroup.testing.broker.server.switchboard import Switchboard

__all__ = ["until", "wait_until"]

_GLANCE: Final = 0.002
"""Seconds between two looks of an async wait; also the time that passes when time is virtual."""


async def until(board: Switchboard, is_so: Callable[[], object], timeout: float) -> None:
    """Wait without blocking the event loop; see `InProcessBroker.until`."""
    with anyio.move_on_after(timeout):
        while not is_so():  # noqa: ASYNC110  # what is waited for may be a client's own state
            await anyio.sleep(_GLANCE)
        return
    raise _in_vain(board, timeout)


def wait_until(board: Switchboard, is_so: Callable[[], object], timeout: float) -> None:
    """Block the thread until a served cluster is so; see `InProcessBroker.wait_until`."""
    changed = threading.Event()
    ends_at = time.monotonic() + timeout
    with board.lock:
        board.listeners.append(changed.set)
    try:
        while not is_so():
            left = ends_at - time.monotonic()
            if left <= 0:
                raise _in_vain(board, timeout)
            # A client's own state may be what is waited for, and nobody tells of that.
            changed.wait(min(left, 10 * _GLANCE))
            changed.clear()
    finally:
        with board.lock:
            board.listeners.remove(changed.set)


def _in_vain(board: Switchboard, timeout: float) -> TimeoutError:
    groups = [
        f"{group_id!r} is {group.phase.value} with {len(group.members)} member(s) in generation "
        f"{group.generation_id}"
        for shard in board.core.coordinators.shards
        for group_id, group in shard.groups.items()
    ]
    there = "; ".join(groups) or "there is none"
    return TimeoutError(f"waited {timeout:g} s in vain; groups: {there}")
