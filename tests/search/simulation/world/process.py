"""One life of one member: what a process is, before it knows anything of groups.

Decides: that nothing happens in a process that is dead, that everything waits in one that stands
still, and that its connections end with it.
Never: knows what its requests mean.
"""

from collections.abc import Callable
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Final, Protocol

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, RequestSent, Sink
from kgroup.testing.broker.agenda import Agenda
from kgroup.wire.messages import SyncGroupRequest
from kgroup.wire.schema import Message, Request
from tests.search.simulation.world.network import Dispatch, Flight, Lane, Link, Reach


class Surroundings(Dispatch, Protocol):
    """The world as a process sees it."""

    def connect(self, process: "Process", node_id: int) -> Link | None:
        """Open a connection; None: the broker is down, or the process cannot be heard."""
        ...


class Process:
    """One process.

    Args:
        world: what is around it.
        name: unlike any other's.
        sink: takes its events.
    """

    def __init__(self, world: Surroundings, name: str, sink: Sink) -> None:
        self.world = world
        self.clock: Agenda = world.agenda
        self.name = name
        self.sink = sink
        self.reach = Reach(name)
        self.dead: bool = False
        self.frozen_until: float = 0.0
        self._links: dict[tuple[int, Lane], Link] = {}
        self._correlations: dict[int, int] = {}

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self.clock.now

    def at(self, instant: float, act: Callable[..., None], *args: Any) -> None:
        """Do something later, if it lives then, and does not stand still."""
        self.world.at(instant, self._act, act, args)

    def _act(self, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self.dead:
            return
        if self.frozen_until > self.clock.now:
            self.world.at(self.frozen_until, self._act, act, args)
            return
        act(*args)

    def kill(self) -> None:
        """End it without a word; its sockets are closed by the system."""
        self.dead = True
        for link in self._links.values():
            link.vanish()

    # -- requests --------------------------------------------------------------------------------

    def ask(
        self,
        node_id: int,
        lane: Lane,
        request: Request[Any],
        timeout: float,
        then: Callable[[Any | None, str], None],
    ) -> None:
        """Send a request.

        Args:
            node_id: to which broker.
            lane: on which connection; one that is there is used.
            request: the message.
            timeout: seconds; the connection is given up after them.
            then: called once with the answer and "", or with None and why there is none.
        """
        link = self._links.get((node_id, lane))
        if link is None or link.closed:
            made = self.world.connect(self, node_id)
            if made is None:
                refused = self.world.delay(self.reach)
                self.at(self.clock.now + refused, then, None, "the connection was refused")
                return
            link = self._links[node_id, lane] = made
        flight = self._flight(link, request, then)
        link.send(flight)
        self.at(self.clock.now + timeout, self._time_out, flight, link)

    def _flight(
        self, link: Link, request: Request[Any], then: Callable[[Any | None, str], None]
    ) -> Flight:
        number = self._correlations.get(link.number, 0) + 1
        self._correlations[link.number] = number
        kind: Any = type(request)
        self.sink.emit(
            RequestSent(
                connection=link.number,
                correlation_id=number,
                api=request.api_key,
                version=0,
                assignments=_count(request),
                **{name: getattr(request, field) for field, name in _sent_of(kind)},
            )
        )
        hear = partial(self._hear, link.number, number, request.api_key, then)
        return Flight(
            request,
            lambda answer: self._act(hear, (answer,)),
            lambda reason: self.at(self.clock.now, then, None, reason),
        )

    def _hear(
        self,
        connection: int,
        number: int,
        api: ApiKey,
        then: Callable[[Any | None, str], None],
        answer: Any,  # any answer
    ) -> None:
        kind: Any = type(answer)
        self.sink.emit(
            AnswerReceived(
                connection=connection,
                correlation_id=number,
                api=api,
                version=0,
                **{name: getattr(answer, field) for field, name in _heard_of(kind)},
            )
        )
        then(answer, "")

    def _time_out(self, flight: Flight, link: Link) -> None:
        if not flight.over:
            link.close("no answer came in time")

    def drop(self, node_id: int, lane: Lane) -> None:
        """Give up a connection."""
        link = self._links.pop((node_id, lane), None)
        if link is not None:
            link.close("the connection was given up")

    def cut(self) -> None:
        """Have every connection reset."""
        for link in self._links.values():
            if not link.closed:
                link.cut("the connection was reset")


_SENT: Final = MappingProxyType(
    {
        "generation_id": "generation_id",
        "generation_id_or_member_epoch": "generation_id",
        "member_id": "member_id",
        "group_instance_id": "group_instance_id",
    }
)
"""Field of a request -> what the journal calls it."""

_HEARD: Final = MappingProxyType(
    {
        "error_code": "error",
        "generation_id": "generation_id",
        "member_id": "member_id",
        "leader": "leader",
        "skip_assignment": "skip_assignment",
    }
)
"""Field of an answer -> what the journal calls it."""


@cache
def _sent_of(kind: type[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((field, name) for field, name in _SENT.items() if field in kind.FIELDS)


@cache
def _heard_of(kind: type[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((field, name) for field, name in _HEARD.items() if field in kind.FIELDS)


def _count(request: Request[Any]) -> int | None:
    return len(request.assignments) if isinstance(request, SyncGroupRequest) else None
