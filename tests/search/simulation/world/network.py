"""Connections and time of level A: a heap of things to come, and messages between processes.

Decides: the order of events, and what a broken connection loses.
Never: draws chance; a run's choices do.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kgroup.codes import ApiKey
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox
from kgroup.wire.schema import Message, Request
from kgroup.words import Word


class Lane(Word):
    """What a connection is for; one per member, broker and lane."""

    JOIN = "join"
    HEARTBEAT = "heartbeat"
    COMMIT = "commit"
    CONTROL = "control"


@dataclass(slots=True)
class Reach:
    """How one process reaches the brokers.

    Args:
        name: of the process, for sites of choices.
        out_until: nothing it sends arrives before.
        in_until: it hears nothing before.
        lose: API -> how many of the next answers to it are lost, with their connection.
        late: API -> seconds by which the next answer to it is late.
        held: API -> seconds by which the next request of it is late.
        tell: called when one of these three has come true, with its name and the seconds for
            which that lasts.
        refuse: returns the answer to a request that a broker refuses before it looks at it.
    """

    name: str
    out_until: float = 0.0
    in_until: float = 0.0
    lose: dict[ApiKey, int] = field(default_factory=dict)
    late: dict[ApiKey, float] = field(default_factory=dict)
    held: dict[ApiKey, float] = field(default_factory=dict)
    tell: Callable[[str, float], None] = field(default=lambda _, __: None)
    refuse: Callable[[Request[Any]], Message | None] = field(default=lambda _: None)


@dataclass(slots=True, eq=False)
class Flight:
    """One request on its way, until it has an answer or its connection has ended.

    Args:
        request: the message.
        answered: called with the answer.
        failed: called with why there will be none.
        over: whether one of them was called, or the client has given it up.
    """

    request: Request[Any]
    answered: Callable[[Any], None]
    failed: Callable[[str], None]
    over: bool = False


class Dispatch(Protocol):
    """The world as a connection sees it."""

    agenda: Agenda
    """Its clock."""

    def at(self, instant: float, act: Callable[..., None], *args: Any) -> None:
        """Do something at an instant."""
        ...

    def delay(self, reach: Reach) -> float:
        """Draw how long one message takes."""
        ...

    def ask(self, link: "Link", request: Request[Any]) -> None:
        """Give a request to the broker; `link.reply` follows, or never does."""
        ...

    def carried(self, request: Request[Any], answer: Message) -> Message:
        """Return an answer as it is after the network."""
        ...


class Link:
    """One connection.

    Args:
        world: gives time and chance, and serves requests.
        reach: of the process.
        node_id: the broker.
        number: of the connection, over all.
    """

    def __init__(self, world: Dispatch, reach: Reach, node_id: int, number: int) -> None:
        self.node_id = node_id
        self.number = number
        self.reach = reach
        self.asking: Flight | None = None
        self.closed: bool = False
        """By the client, or cut."""
        self._gone = False
        self._world = world
        self._clock = world.agenda
        self._inbox: deque[Flight] = deque()
        self._flights: list[Flight] = []
        self._last_in = 0.0
        self._last_out = 0.0

    # -- the client's side -----------------------------------------------------------------------

    def send(self, flight: Flight) -> None:
        """Send a request."""
        world, reach = self._world, self.reach
        self._flights.append(flight)
        due = max(self._clock.now, reach.out_until) + world.delay(reach)
        if reach.held and flight.request.api_key in reach.held:
            seconds = reach.held.pop(flight.request.api_key)
            due += seconds
            reach.tell("HOLD", seconds)
        self._last_in = due = max(due, self._last_in)
        world.at(due, self._arrive, flight)

    def close(self, reason: str) -> None:
        """Close it from the client's side; what waits for an answer fails."""
        if self.closed:
            return
        self.closed = True
        self._fail(reason)
        due = max(self._clock.now, self.reach.out_until) + self._world.delay(self.reach)
        self._world.at(max(due, self._last_in), self._left)

    def cut(self, reason: str) -> None:
        """End it for both sides at once; what has arrived and waits is not served any more."""
        self.closed = self._gone = True
        self._inbox.clear()
        self.asking = None
        self._fail(reason)

    def vanish(self) -> None:
        """End it with its process, which does not hear of it."""
        for flight in self._flights:
            flight.over = True
        self._flights.clear()
        if not self.closed:
            self.close("")

    def _fail(self, reason: str) -> None:
        flights, self._flights = self._flights, []
        for flight in flights:
            if not flight.over:
                flight.over = True
                flight.failed(reason)

    # -- the broker's side -----------------------------------------------------------------------

    def _arrive(self, flight: Flight) -> None:
        if self._gone:
            return
        self._inbox.append(flight)
        self._serve()

    def _serve(self) -> None:
        if self.asking is None and self._inbox:
            self.asking = self._inbox.popleft()
            self._world.ask(self, self.asking.request)

    def _left(self) -> None:
        """Notice what a broker notices of a close: of what waits one is still served."""
        while len(self._inbox) > 1:
            self._inbox.pop()
        self._gone = True

    def reply(self, answer: Message | None) -> None:
        """Send the answer to what is asked; None hangs up instead."""
        flight, self.asking = self.asking, None
        if flight is None:
            return
        if answer is None:
            self.cut("the broker closed the connection")
            return
        self._serve()
        if self.closed or flight.over:
            return
        reach, api = self.reach, flight.request.api_key
        due = max(self._clock.now, reach.in_until) + self._world.delay(reach)
        if api in reach.late:
            seconds = reach.late.pop(api)
            due += seconds
            reach.tell("DELAY", seconds)
        self._last_out = due = max(due, self._last_out)
        if reach.lose.get(api, 0) > 0:
            reach.lose[api] -= 1
            reach.tell("LOSE", 0.0)
            self._world.at(due, self.cut, "the answer was lost with its connection")
            return
        self._world.at(due, self._deliver, flight, self._world.carried(flight.request, answer))

    def _deliver(self, flight: Flight, answer: Message) -> None:
        if self.reach.in_until > self._clock.now:  # nothing passes since it was sent
            until = self.reach.in_until  # not later: what was sent after it may be due before
            self._last_out = max(until, self._last_out)
            self._world.at(until, self._deliver, flight, answer)
            return
        if flight.over or self.closed:
            return
        flight.over = True
        self._flights.remove(flight)
        flight.answered(answer)


# -- heap ------------------------------------------------------------------------------------------


Act = Callable[..., None]


class Heap:
    """What will happen.

    Args:
        agenda: of the cluster; its clock is the world's.
        outbox: of the cluster.
        send: called when something has happened, and answers wait in the outbox.
    """

    def __init__(self, agenda: Agenda, outbox: Outbox, send: Act) -> None:
        self._agenda = agenda
        self._outbox = outbox
        self._send = send
        self._items: list[tuple[float, int, Act, tuple[Any, ...]]] = []
        self._number = 0
        self.events: int = 0
        """How many things have happened."""

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self._agenda.now

    def at(self, instant: float, act: Act, *args: Any) -> None:  # for `act`
        """Do something at an instant; one that has passed counts as now."""
        self._number += 1
        now = self._agenda.now
        heapq.heappush(self._items, (max(now, instant), self._number, act, args))

    def run(self, until: float) -> None:
        """Let everything happen up to an instant."""
        items, agenda, outbox = self._items, self._agenda, self._outbox
        while True:
            due = items[0][0] if items else until + 1.0
            timer = agenda.next_at
            if timer <= due and timer <= until:
                agenda.run(timer)
            elif due <= until:
                _, _, act, args = heapq.heappop(items)
                if due > agenda.now:
                    agenda.now = due
                act(*args)
            else:
                return
            self.events += 1
            if outbox.waiting:
                self._send()
