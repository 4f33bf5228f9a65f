"""Where time, chance and the network enter kgroup: the ports that tests replace.

Decides: the shape of each port, and the real ones.
Never: is imported below the IO line.
"""

import random
import time
from collections.abc import Callable
from typing import Final, Protocol

import anyio
from anyio.abc import ByteStream

from kgroup.net.direct import dial_direct, on_asyncio
from kgroup.values import dataclass

Clock = Callable[[], float]
"""Seconds on a clock that never goes back."""


class Dice(Protocol):
    """The only source of chance; `random.Random` fits."""

    def uniform(self, a: float, b: float, /) -> float:
        """Return a number between a and b."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """Return k random bits."""
        ...


class Dial(Protocol):
    """Opens one connection; the caller bounds the time."""

    async def __call__(self, host: str, port: int) -> ByteStream:
        """Connect, or raise OSError."""
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a consumer takes from outside, besides its options.

    Args:
        dial: opens connections.
        clock: monotonic seconds; counts time in suspend where the platform can.
        wall: seconds since the epoch, for logs only.
        dice: jitter and nonces.
        dice_of: makes dice for one task of those that draw in one instant, by a name; None: all
            draw from `dice`. Two tasks may run in either order; with dice of its own, what one of
            them draws does not hang on it.
    """

    dial: Dial
    clock: Clock
    wall: Clock
    dice: Dice
    dice_of: Callable[[str], Dice] | None = None

    def dice_for(self, who: str) -> Dice:
        """Return the dice of one task.

        Args:
            who: names it, the same in each run; no other task that draws in the same instant has
                this name.
        """
        return self.dice if self.dice_of is None else self.dice_of(who)


async def dial_tcp(host: str, port: int) -> ByteStream:
    """Open a TCP connection with TCP_NODELAY."""
    if on_asyncio():
        return await dial_direct(host, port)
    return await anyio.connect_tcp(host, port)


_BOOTTIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def system_clock() -> float:
    """Read the monotonic clock, counting time in suspend where the platform has such a clock."""
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


def system_ports() -> Ports:
    """Return the real network, clock and dice."""
    return Ports(dial=dial_tcp, clock=system_clock, wall=time.time, dice=random.SystemRandom())


def os_reason(error: BaseException) -> str:
    """Say what the operating system said, also when it is buried under a cause or a group."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(os_reason(inner) for inner in error.exceptions))
    if error.__cause__ is not None:
        return os_reason(error.__cause__)
    return str(error) or type(error).__name__


# -- notifier --------------------------------------------------------------------------------------
#
# Wakes all waiting tasks, once.
#
# Decides: that a waiter looks at the state itself after it wakes; a notifier carries no data.
# Never: remembers: what happened before `wait()` was called does not end it, so the state is
#     looked at first, and between looking and waiting there is no await.


class Notifier:
    """A condition without a lock, for tasks of one loop."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def notify(self) -> None:
        """Wake all present waiters."""
        event, self._event = self._event, None
        if event is not None:
            event.set()

    async def wait(self) -> None:
        """Wait for the next `notify()`; the caller bounds the time."""
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
