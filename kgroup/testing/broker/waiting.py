"""Waiting until a cluster is as a test wants it, in async tests and in plain ones.

Decides: that a wait has an end, and that its error names what was there instead.
Never: changes the cluster.
"""

import inspect
import threading
import time
from collections.abc import Callable
from typing import Final

import anyio

from kgroup.codes import ErrorCode
from kgroup.testing.broker.group_view import seen_group
from kgroup.testing.broker.server.sockets import LOOPBACK
from kgroup.testing.broker.server.switchboard import Reaction, Switchboard
from kgroup.wire.schema import Message

_GLANCE: Final = 0.002
"""Seconds between two looks of an async wait; also the time that passes when time is virtual."""

_LAST: Final = 5
"""Requests that the error of a wait in vain names."""


async def until(board: Switchboard, is_so: Callable[[], object], timeout: float) -> None:
    """Wait without blocking the event loop; see `InProcessBroker.until`."""
    with anyio.move_on_after(timeout):
        while not _asked(is_so):  # noqa: ASYNC110  # what is waited for may be a client's own state
            await anyio.sleep(_GLANCE)
        return
    raise _in_vain(board, timeout)


def wait_until(board: Switchboard, is_so: Callable[[], object], timeout: float) -> None:
    """Block the thread until a served cluster is so; see `InProcessBroker.wait_until`."""
    if _asked(is_so):
        return
    _must_not_stop_the_world(board)
    changed = threading.Event()
    ends_at = time.monotonic() + timeout
    with board.lock:
        board.listeners.append(changed.set)
    try:
        while not _asked(is_so):
            left = ends_at - time.monotonic()
            if left <= 0:
                raise _in_vain(board, timeout)
            # A client's own state may be the condition, and its changes are not announced.
            # Looking at a handle counts as a change, too: earlier announcements say nothing.
            changed.clear()
            changed.wait(min(left, 10 * _GLANCE))
    finally:
        with board.lock:
            board.listeners.remove(changed.set)


def _asked(is_so: Callable[[], object]) -> bool:
    if not callable(is_so):
        raise TypeError(
            f"a wait asks again and again, so it wants a function, such as "
            f"`lambda: len(handled) == 3`, not {is_so!r}"
        )
    answer = is_so()
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise TypeError(
            f"a wait asks a plain function; {is_so!r} is async, so its answer is always true"
        )
    return bool(answer)


def _must_not_stop_the_world(board: Switchboard) -> None:
    """Refuse to block a thread where nothing would ever change meanwhile."""
    try:
        anyio.current_time()
    except RuntimeError:
        pass  # a thread without an event loop
    else:
        raise RuntimeError(
            "wait_until would block the event loop and every client on it; say "
            "`await broker.until(...)` in an async test"
        )
    if board.core.cluster.nodes[1].host != LOOPBACK:
        raise RuntimeError(
            "the cluster is not served, so nothing moves while a thread is blocked; wait within "
            "`with broker.serve():`, or in an async test with `await broker.until(...)`"
        )


def _in_vain(board: Switchboard, timeout: float) -> TimeoutError:
    board.look()
    with board.lock:
        groups = [
            _described(board, group_id)
            for shard in board.core.coordinators.shards
            for group_id in (*shard.groups, *shard.consumer_groups)
        ]
        asked = [
            f"{type(each.request).__name__} of {each.client_id!r} to broker {each.node_id}, "
            f"{board.now - each.at:.3g} s ago"
            for each in board.arrivals[-_LAST:]
        ]
        refused = [line for each in board.reactions for line in _refusals(board, each)]
    lines = [
        f"waited {timeout:g} s in vain",
        *(groups or ["no group exists"]),
        "asked last: " + ("; ".join(asked) or "nothing, so no client has found the broker"),
        *(["refused last: " + "; ".join(refused[-_LAST:])] if refused else ()),
    ]
    return TimeoutError("\n".join(lines))


def _refusals(board: Switchboard, reaction: Reaction) -> list[str]:
    """Say which codes an answer has; being sent away for a member id is part of every start."""
    name, ago = type(reaction.request).__name__, board.now - reaction.at
    return [
        f"{name} of {reaction.client_id!r} by broker {reaction.node_id}, {ago:.3g} s ago: "
        f"{_name_of(code)} ({code})"
        for code in sorted(_codes_in(reaction.answer) - {0, ErrorCode.MEMBER_ID_REQUIRED})
    ]


def _codes_in(part: object) -> set[int]:
    if isinstance(part, tuple):
        return {code for each in part for code in _codes_in(each)}
    if not isinstance(part, Message):
        return set()
    inner = (_codes_in(getattr(part, name)) for name in part.FIELDS)
    return {getattr(part, "error_code", 0)}.union(*inner)


def _name_of(code: int) -> str:
    return next((each.name for each in ErrorCode if each == code), "no code of Kafka's")


def _described(board: Switchboard, group_id: str) -> str:
    view = seen_group(board.core, group_id)
    members = ", ".join(
        f"{member.client_id!r} has {[str(tp) for tp in member.partitions]}"
        for member in view.members
    )
    committed = {str(tp): each.offset for tp, each in view.offsets.items()}
    return (
        f"group {group_id!r} is {view.state} in generation {view.generation}; "
        f"members: {members or 'none'}; committed: {committed or 'nothing'}"
    )
