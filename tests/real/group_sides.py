"""Two sides of one conversation about a group: a real broker, and the core of the in-process one.

Decides: when an answer counts as parked: when it is not there after half a second.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kgroup.codes import ErrorCode
from kgroup.testing.broker.releases import CoordinatorKind
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.kafka.ready import Probe, parse_bootstrap
from kgroup.wire.messages import FindCoordinatorRequest
from kgroup.wire.schema import Request
from tests.testing.broker.driver import Raw, asking

_PARKED_AFTER: Final = 0.5
PATIENCE: Final = 6.0
_SESSIONS_FROM: Final = 1.0

Reply = Callable[[float], Any | None]
"""Gives the answer, or None if there is none after so many seconds of patience."""


class Side(Protocol):
    """The other side of a conversation."""

    def ask(self, name: str, request: Request[Any]) -> Reply:
        """Send a request on a client's connection."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """The in-process broker."""

    raw: Raw

    @classmethod
    def of(cls, kind: CoordinatorKind) -> "InProcess":
        settings = BrokerSettings(min_session_timeout=_SESSIONS_FROM)
        return cls(asking(kind=kind, settings=settings))

    def ask(self, name: str, request: Request[Any]) -> Reply:
        call = self.raw.ask(1, request, client=name)
        self.raw.run(_PARKED_AFTER if call.parked else 0.0)
        return lambda _: call.answer

    def wait(self, seconds: float) -> None:
        self.raw.run(seconds)


@dataclass(slots=True)
class _Real:
    """A real broker, with a connection and a thread per client."""

    address: tuple[str, int]
    stack: ExitStack
    clients: dict[str, tuple[Probe, ThreadPoolExecutor]] = field(default_factory=dict)

    def ask(self, name: str, request: Request[Any]) -> Reply:
        probe, pool = self._client(name)
        coming: Future[Any] = pool.submit(probe.ask, request)
        _within(coming, _PARKED_AFTER)
        return lambda seconds: _within(coming, seconds)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _client(self, name: str) -> tuple[Probe, ThreadPoolExecutor]:
        if name not in self.clients:
            pool = self.stack.enter_context(ThreadPoolExecutor(1))
            probe = self.stack.enter_context(Probe(self.address, timeout=PATIENCE))
            self.clients[name] = probe, pool
        return self.clients[name]


def _within(coming: Future[Any], seconds: float) -> Any | None:
    try:
        return coming.result(seconds)
    except FutureTimeoutError:
        return None


@contextmanager
def real_side(bootstrap: str) -> Iterator[Side]:
    """Connect to a real broker that coordinates already."""
    address = parse_bootstrap(bootstrap)[0]
    with ExitStack() as stack:
        side = _Real(address, stack)
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=("warm",))
        while True:
            answer = side.ask("warm", find)(PATIENCE)
            if answer is not None and answer.coordinators[0].error_code == ErrorCode.NONE:
                break
        yield side
