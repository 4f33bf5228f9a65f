"""Asks one broker after the other until one answers.

Decides: how long one that is silent holds up the next: so long that each has its turn in the time
at hand. It is not given up then: the first answer counts, from any broker.
Never: is used for a request that must not be carried out twice.
"""

import math
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import anyio

from kgroup.errors import AuthenticationError, ConnectionLostError, KGroupError
from kgroup.net.settings import Endpoint

R = TypeVar("R")

_HEDGE_AFTER: Final = 2.0
"""Most seconds of silence after which the next broker is asked too."""

_BETWEEN: Final = 0.15
"""Seconds from a failure to the next attempt: a handshake and a question each, that is less than
20 requests in a second however many brokers refuse at once."""


class Patience:
    """The time at hand: that of the most impatient caller that waits for an answer."""

    __slots__ = ("_timeouts",)

    def __init__(self) -> None:
        self._timeouts: list[float] = []

    @property
    def least(self) -> float:
        """Seconds, infinity while nobody waits."""
        return min(self._timeouts, default=math.inf)

    @contextmanager
    def of(self, timeout: float) -> Iterator[None]:
        """Count a waiter for one block."""
        self._timeouts.append(timeout)
        try:
            yield
        finally:
            self._timeouts.remove(timeout)


def reason_of(error: Exception) -> str:
    """Say why an attempt failed, without the address that stands beside it anyway."""
    match error:
        case ConnectionLostError():
            return error.reason
        case AuthenticationError():
            return f"{error.mechanism}: {error.reason}"
        case _:
            return str(error)


async def first_answer(
    candidates: Sequence[Endpoint],
    ask: Callable[[Endpoint], Awaitable[R]],
    trouble: MutableMapping[str, str],
    patience: Patience,
) -> tuple[Endpoint, R] | None:
    """Return the first answer and the broker that gave it; None when every attempt failed.

    Args:
        candidates: the brokers to ask, in this order.
        ask: one bounded attempt.
        trouble: address -> why it failed; written as attempts begin and fail.
        patience: of the callers: every candidate should have its turn in their time.
    """
    found: list[tuple[Endpoint, R]] = []

    async def attempt(endpoint: Endpoint, over: anyio.Event) -> None:
        # An earlier failure stays until this attempt has one of its own: it says more.
        trouble.setdefault(endpoint.address, "no answer yet")
        try:
            answer = await ask(endpoint)
        except (KGroupError, TimeoutError) as error:
            trouble[endpoint.address] = reason_of(error)
        else:
            found.append((endpoint, answer))
            tasks.cancel_scope.cancel()
        finally:
            over.set()

    async with anyio.create_task_group() as tasks:
        for number, endpoint in enumerate(candidates):
            hedge = min(_HEDGE_AFTER, patience.least / (2 * len(candidates)))
            if number:
                await anyio.sleep(min(_BETWEEN, hedge / 2))
            over = anyio.Event()
            tasks.start_soon(attempt, endpoint, over)
            with anyio.move_on_after(hedge):
                await over.wait()
    return found[0] if found else None
