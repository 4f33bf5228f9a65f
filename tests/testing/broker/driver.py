"""Asks the pure core of a broker, message by message, on a clock that the test turns.

    raw = asking(nodes=1)                      # or Raw(core) for a core of one's own
    call = raw.ask(1, JoinGroupRequest(...), client="A")
    call.answer                                # None while parked
    raw.run(0.5)                               # half a second passes

Decides: nothing; each call has a ticket of its own and no connection holds up another.
"""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kgroup.codes import ApiKey
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Asked, HungUp, NoAnswer, Outbox
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind, Release
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.frames import request_class
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

CALENDAR_START = 1_700_000_000.0


@dataclass(slots=True)
class Call(Generic[R]):
    """One request and what became of it.

    Args:
        ticket: its own.
        request: as asked.
        version: of both.
        answer: None while parked.
        hung_up: the broker closed the connection instead.
        answered_at: agenda time of the answer, None while parked.
    """

    ticket: int
    request: Request[R] | None
    version: int
    answer: R | None = None
    hung_up: bool = False
    answered_at: float | None = None

    @property
    def parked(self) -> bool:
        """Whether there is no answer and none is excluded."""
        return self.answer is None and not self.hung_up

    @property
    def now(self) -> R:
        """The answer, which must be there."""
        assert self.answer is not None, f"{type(self.request).__name__} is parked or hung up"
        return self.answer


@dataclass(slots=True)
class Raw:
    """A client that asks a core.

    Args:
        core: the cluster.
        calls: all that were asked, by ticket.
    """

    core: Core
    calls: dict[int, Call[Any]] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """What the cluster's clock reads."""
        return self.core.context.agenda.now

    def ask(
        self,
        node: int,
        request: Request[R],
        *,
        version: int | None = None,
        client: str = "A",
        connection: int = 0,
    ) -> Call[R]:
        """Send one request.

        Args:
            node: the broker asked.
            request: the message.
            version: None = the highest that kgroup knows and the release speaks.
            client: client id.
            connection: its number, for what belongs to connections.
        """
        if version is None:
            version = self._highest(type(request))
        call = Call(len(self.calls) + 1, request, version)
        self.calls[call.ticket] = call
        asked = Asked(call.ticket, node, connection, client, "/127.0.0.1", version)
        if self.core.serves(type(request), version):
            self.core.ask(asked, request)
        else:
            self.core.refuse(asked)
        self._collect()
        return call

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.until(self.now + seconds)

    def until(self, instant: float) -> None:
        """Let time pass up to an instant; answers carry the instants of the timers they owe."""
        agenda = self.core.context.agenda
        while agenda.next_at <= instant:
            agenda.run(agenda.next_at)
            self._collect()
        agenda.run(instant)
        self._collect()

    def _highest(self, request: type[Request[Any]]) -> int:
        release = self.core.context.release
        spoken = [v for v in request.VERSIONS if release.speaks(request.api_key, v)]
        return spoken[-1] if spoken else request.VERSIONS[-1]

    def _collect(self) -> None:
        for reply in self.core.context.outbox.take():
            call = self.calls[reply.ticket]
            assert call.answered_at is None, f"ticket {reply.ticket} is answered twice"
            call.answered_at = self.now
            if isinstance(reply.answer, HungUp):
                call.hung_up = True
            elif not isinstance(reply.answer, NoAnswer):
                call.answer = reply.answer


def asking(
    nodes: int = 1,
    *,
    kind: CoordinatorKind = CoordinatorKind.NEW,
    settings: BrokerSettings | None = None,
) -> Raw:
    """Make a cluster and a client that asks it.

    Args:
        nodes: how many brokers.
        kind: rules of the group coordinator.
        settings: None = the defaults, with sessions from 1 s on.
    """
    return Raw(Core(surroundings(kind, settings), nodes))


def surroundings(
    kind: CoordinatorKind = CoordinatorKind.NEW, settings: BrokerSettings | None = None
) -> Context:
    """Make a context whose release speaks all versions that kgroup knows."""
    return Context(
        Agenda(),
        Outbox(),
        settings or BrokerSettings(min_session_timeout=1.0),
        Release("every version", every_version(), kind),
        kind,
        Mint(0),
        CALENDAR_START,
    )


def every_version() -> dict[ApiKey, tuple[int, int]]:
    known = {api: request_class(api).VERSIONS for api in ApiKey}
    return {api: (versions[0], versions[-1]) for api, versions in known.items()}
