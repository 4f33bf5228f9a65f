"""Whether a process must be replaced, and whether it is at work: for supervisors.

Decides: when liveness turns red, well before the poll interval or the lease ends; when a member is
ready; that each stall is told, and logged once a minute for each kind.
Never: asks a broker; restarts anything.

A monitor looks at a consumer several times a second, on its event loop. `health` judges the latest
look, from any thread: while the loop is blocked, the look gets old, and that counts.
"""

import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self, TypeAlias

import anyio

from kgroup.net.ports import Clock, Notifier, system_clock
from kgroup.observe.stalls import Stall, StallKind, StallLimits, Stalls
from kgroup.observe.vitals import Part, Pulse, Vitals, Watched
from kgroup.types import Claim, MemberState
from kgroup.values import dataclass

__all__ = [
    "Health",
    "Limits",
    "Monitor",
    "Part",
    "Pulse",
    "Stall",
    "StallKind",
    "StallLimits",
    "StallStream",
    "Vitals",
    "Watched",
]

log = logging.getLogger(__name__)

_BURST: Final = 60.0
"""Seconds in which stalls of one kind are logged once."""
_FRESH: Final = 4
"""Looks that may be late before the loop counts as blocked."""
_MOST_STALLS: Final = 1000
"""Stalls that a stream keeps for a slow reader; then the oldest are dropped."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """When liveness turns red, and when a member is ready.

    Args:
        poll: part of `max_poll_interval` without a read after which it is red, None for never.
        lease: part of the lease that is used up when it is red, None for never.
        stuck: seconds without progress in a partition after which it is red, None for never.
        behind: offsets by which each partition must have been behind at most to be ready.
        stalls: what counts as a stall.
    """

    poll: float | None = 0.5
    lease: float | None = 0.5
    stuck: float | None = None
    behind: int = 1000
    stalls: StallLimits = StallLimits()


@dataclass(frozen=True, slots=True)
class Health:
    """The answer for a supervisor.

    Args:
        live: whether the process need not be replaced.
        ready: whether it is at work, and has caught up once with each partition it has.
        causes: why it is not live.
        waits: why it is not ready.
        numbers: what was measured: seconds, and offsets of partitions.
    """

    live: bool
    ready: bool
    causes: tuple[str, ...]
    waits: tuple[str, ...]
    numbers: dict[str, Any]

    def to_json(self) -> str:
        """Return all of it as JSON."""
        head = {"live": self.live, "ready": self.ready}
        lists = {"causes": list(self.causes), "waits": list(self.waits)}
        return json.dumps({**head, **lists, **self.numbers})


class Monitor:
    """Watches one consumer; it is an ASGI app as well, with `/live` and `/ready`.

        async with Consumer("orders", group_id="billing") as consumer:
            monitor = Monitor(consumer)
            async with monitor.running():
                ...

    Args:
        consumer: entered before it runs.
        limits: when it is red, and what a stall is.
        every: seconds between two looks.
        clock: monotonic seconds; it tells how old a look is.
    """

    def __init__(
        self,
        consumer: Watched,
        limits: Limits | None = None,
        *,
        every: float = 0.25,
        clock: Clock = system_clock,
    ) -> None:
        self._consumer = consumer
        self._limits = Limits() if limits is None else limits
        self._every = every
        self._clock = clock
        self._stalls = Stalls(self._limits.stalls)
        self._latest: tuple[Vitals, float] | None = None
        self._stuck: tuple[str, float] | None = None
        self._caught_up: frozenset[Claim] = frozenset()
        self._streams: list[StallStream] = []
        self._logged: dict[StallKind, float] = {}

    # -- watching --------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Watch for one block; an exception of it goes on as it is, not wrapped in a group."""
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            self._look()
            tasks.start_soon(self.run)
            try:
                yield self
            except Exception as error:  # noqa: BLE001 - raised below
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            IllegalStateError: the consumer is not entered.
        """
        while True:
            self._look()
            await anyio.sleep(self._every)

    def stalls(self) -> "StallStream":
        """Iterate over the stalls that are found from now on."""
        stream = StallStream()
        self._streams.append(stream)
        return stream

    def _look(self) -> None:
        before, vitals = self._latest, self._consumer.vitals()
        late = 0.0 if before is None else vitals.at - before[0].at - self._every
        for stall in self._stalls.look(vitals, late):
            self._tell(stall)
        longest = self._stalls.longest(vitals.at)
        self._stuck = None if longest is None else (str(longest[0]), vitals.at - longest[1])
        self._caught_up = self._caught(vitals)
        self._latest = vitals, self._clock()

    def _caught(self, vitals: Vitals) -> frozenset[Claim]:
        """Return the claims that were nearly at the end once."""
        near = self._limits.behind
        return frozenset(
            part.claim
            for part in vitals.parts
            if part.claim in self._caught_up or (part.behind is not None and part.behind <= near)
        )

    def _tell(self, stall: Stall) -> None:
        logged_at = self._logged.get(stall.kind)
        if logged_at is None or stall.at - logged_at >= _BURST:
            self._logged[stall.kind] = stall.at
            log.warning("%s", stall)
        for stream in self._streams:
            stream.put(stall)

    # -- judging ---------------------------------------------------------------------------

    def health(self) -> Health:
        """Return how it is; from any thread.

        What `run` has seen last is judged by the present time.
        """
        latest, stuck = self._latest, self._stuck
        if latest is None:
            return Health(True, False, (), ("it was not looked at yet",), {})  # noqa: FBT003
        vitals, looked_at = latest
        now = vitals.at + self._clock() - looked_at
        causes = tuple(self._causes(vitals, stuck, now))
        waits = causes or tuple(self._waits(vitals))
        return Health(not causes, not waits, causes, waits, self._numbers(vitals, stuck, now))

    def _causes(self, vitals: Vitals, stuck: tuple[str, float] | None, now: float) -> list[str]:
        limits, found = self._limits, list[str]()
        if vitals.failure is not None:
            found.append(f"it has failed: {type(vitals.failure).__name__}: {vitals.failure}")
        elif vitals.closed:
            return ["it is closed"]
        if not vitals.membership.claims and now - vitals.at <= _FRESH * self._every:
            return found  # what it does not have it cannot hold up
        unread = _unread(vitals, now)
        if limits.poll is not None and unread is not None and vitals.poll_interval is not None:
            allowed = limits.poll * vitals.poll_interval
            if unread >= allowed:
                found.append(f"nothing was read for {unread:.3g} s, limit {allowed:g} s")
        left, lease = _left(vitals, now), vitals.pulse.lease
        if limits.lease is not None and left is not None and lease is not None:
            needed = (1 - limits.lease) * lease
            if left <= needed:
                found.append(f"the membership ends in {left:.3g} s, limit {needed:g} s")
        if limits.stuck is not None and stuck is not None and now - stuck[1] >= limits.stuck:
            text = f"{stuck[0]}: no record is done for {now - stuck[1]:.3g} s"
            found.append(f"{text}, limit {limits.stuck:g} s")
        return found

    def _waits(self, vitals: Vitals) -> list[str]:
        member = vitals.membership
        found = []
        if member.state is not MemberState.STABLE:
            found.append(f"the member is {member.state.value}")
        if member.trouble is not None:
            found.append(f"{type(member.trouble).__name__}: {member.trouble}")
        behind = [part for part in vitals.parts if part.claim not in self._caught_up]
        if behind:
            names = ", ".join(str(part.tp) for part in behind[:5])
            found.append(f"{len(behind)} partitions are behind: {names}")
        return found

    def _numbers(
        self, vitals: Vitals, stuck: tuple[str, float] | None, now: float
    ) -> dict[str, Any]:
        return {
            "state": vitals.membership.state.value,
            "looked": round(now - vitals.at, 3),
            "unread": _rounded(_unread(vitals, now)),
            "lease_left": _rounded(_left(vitals, now)),
            "stuck": None if stuck is None else round(now - stuck[1], 3),
            "partitions": {
                str(part.tp): {"done": part.done, "end": part.end} for part in vitals.parts
            },
        }

    # -- pages -----------------------------------------------------------------------------

    def page(self, path: str) -> tuple[int, str] | None:
        """Return status and JSON of `/live` or `/ready`, None for anything else."""
        health = self.health()
        match path.rstrip("/").rpartition("/")[2]:
            case "live":
                good = health.live
            case "ready":
                good = health.ready
            case _:
                return None
        return (200 if good else 503), health.to_json()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI app: on this event loop, so a blocked one does not answer at all."""
        if scope["type"] == "lifespan":
            await _live_through(receive, send)
            return
        if scope["type"] != "http":
            return
        status, body = self.page(scope["path"]) or (404, "{}")
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        said = b"" if scope["method"] == "HEAD" else body.encode()
        await send({"type": "http.response.body", "body": said})


async def _live_through(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


def _unread(vitals: Vitals, now: float) -> float | None:
    return None if vitals.polled_at is None else now - vitals.polled_at


def _left(vitals: Vitals, now: float) -> float | None:
    """Return the seconds until the membership ends, None without any, or when nobody can tell.

    While the loop is blocked, isolated heartbeats go on, and the latest look knows nothing of them.
    1. A look finds no partitions; 2. the member gets some, and the first record blocks the loop:
    what it may have since ends with a lease that is no younger than the look.
    """
    until, lease = vitals.pulse.until, vitals.pulse.lease
    if until is None and lease is not None:
        until = vitals.at + lease
    if until is None:
        return None
    return until - (vitals.at if vitals.isolated else now)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


class StallStream:
    """`async for stall in monitor.stalls()`."""

    def __init__(self) -> None:
        self._waiting: deque[Stall] = deque(maxlen=_MOST_STALLS)
        self._news = Notifier()

    def put(self, stall: Stall) -> None:
        """Add one."""
        self._waiting.append(stall)
        self._news.notify()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Stall:
        """Wait for the next one."""
        while not self._waiting:
            await self._news.wait()
        return self._waiting.popleft()
