"""Virtual time for async tests: hours pass in milliseconds, on asyncio and on trio.

Decides: when every task waits, the clock jumps to the next timer instead of sleeping.
Never: touches real time, or works together with real sockets to other processes: time would
    run past them. Streams in memory (`tests.search.scripted.broker`) are what it is for.

In a `conftest.py`:

    from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend

    @pytest.fixture(params=VIRTUAL_BACKENDS)
    def anyio_backend(request):
        return virtual_backend(request.param)

Both clocks start at 0, and `anyio.current_time()` reads them.
"""

import asyncio
import math
import random
import selectors
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any, Final, TypeVarTuple

import anyio

from kgroup.errors import MissingExtraError
from kgroup.net.ports import Dial, Ports

__all__ = [
    "VIRTUAL_BACKENDS",
    "WALL_AT_START",
    "VirtualLoop",
    "clock_is_virtual",
    "virtual_backend",
    "virtual_ports",
    "virtual_wall",
]

Ts = TypeVarTuple("Ts")

VIRTUAL_BACKENDS: Final = ("asyncio", "trio")
"""Names for `virtual_backend`; parametrise a fixture `anyio_backend` over them."""

WALL_AT_START: Final = 1_700_000_000.0
"""What `virtual_wall` reads when the virtual clock reads 0."""

_STUCK_AFTER: Final = 5.0
"""Real seconds that a worker thread may take while no timer runs."""


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing: it reports what is ready, or else moves the clock by the time-out."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is not None:
            # A little further than asked: asyncio runs a timer only when the clock is past it,
            # and its own allowance for that vanishes in the rounding of large times.
            self.now += timeout
            self.now += 2 * math.ulp(self.now)
            return ready
        ready = super().select(_STUCK_AFTER)
        if not ready:
            raise RuntimeError(
                "virtual time stands still: every task waits, no timer is set, and no thread "
                f"reported within {_STUCK_AFTER:g} real seconds"
            )
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose clock jumps to the next timer when nothing else is to be done.

    Raises:
        RuntimeError: from the running loop, when every task waits and no timer could end it.
    """

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Return virtual seconds since the loop was made."""
        return self._jumping.now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Set a timer; one that never runs (`sleep_forever`) does not make the clock jump."""
        if math.isinf(when):
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(when, callback, *args, context=context)


def virtual_backend(name: str) -> tuple[str, Mapping[str, Any]]:
    """Build one test's value for anyio's `anyio_backend` fixture; never share it between tests.

    Args:
        name: one of `VIRTUAL_BACKENDS`.

    Raises:
        MissingExtraError: trio is asked for and not installed.
    """
    match name:
        case "asyncio":
            return name, {"loop_factory": VirtualLoop}
        case "trio":
            return name, {"clock": _mock_clock()}
        case _:
            raise ValueError(f"no virtual backend {name!r}; there are {VIRTUAL_BACKENDS}")


def _mock_clock() -> object:
    try:
        from trio.testing import MockClock  # noqa: PLC0415 - trio is an extra
    except ImportError as error:
        raise MissingExtraError("virtual time on trio", "testing") from error
    return MockClock(autojump_threshold=0)


def clock_is_virtual() -> bool:
    """Tell whether the running event loop's clock is one of those above."""
    try:
        return isinstance(asyncio.get_running_loop(), VirtualLoop)
    except RuntimeError:
        from trio.lowlevel import current_clock  # noqa: PLC0415 - trio is an extra

        return hasattr(current_clock(), "autojump_threshold")


def virtual_wall() -> float:
    """Read a calendar clock that goes with the virtual one."""
    return WALL_AT_START + anyio.current_time()


def virtual_ports(dial: Dial, *, seed: int = 0) -> Ports:
    """Return ports whose clocks are virtual and whose chance comes from a seed.

    Args:
        dial: opens connections, such as a `tests.search.scripted.broker.ScriptedBroker`.
        seed: same seed, same dice, in whatever order the tasks of one instant run; of each member
            of a group of KIP-848 another, for it makes its id from it.
    """
    return Ports(
        dial=dial,
        clock=anyio.current_time,
        wall=virtual_wall,
        dice=random.Random(seed),
        dice_of=_NamedDice(seed),
    )


class _NamedDice:
    """Dice by name, all from one seed: the order of draws in an instant does not change them.

    The n-th that are made under one name are always the same, and others than those before them.

    Args:
        seed: of all of them.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made = Counter[str]()

    def __call__(self, who: str) -> random.Random:
        """Make the next dice of a name."""
        self._made[who] += 1
        return random.Random(f"{self._seed} {who} {self._made[who]}")
