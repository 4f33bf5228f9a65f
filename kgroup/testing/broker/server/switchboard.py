"""Pairs connections with the core: which client asked, where its answer goes, and what time it is.

Decides: what is done with a request before and after the core has it (`faults`), that ApiVersions
in an unknown version is answered by 35 in version 0 and any other unknown or unreadable request by
closing the connection (`broker_facts.md` G2), and that an answer that no client waits for any more
is dropped.
Never: waits or opens sockets; `memory` and `sockets` bring it bytes and time.

One lock guards everything, so that control calls may come from any thread. A call that enters by
`changing` finds the present instant and leaves with all answers on their lines.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Any, Final

from kgroup.codes import ApiKey
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Asked, HungUp, NoAnswer, Reply
from kgroup.testing.broker.cluster.finding import unsupported_version
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.server.faults import Answers, Error, HeldRequests, delay_of
from kgroup.testing.broker.server.line import Line, Question, Slot
from kgroup.testing.broker.server.refusals import OF_SESSIONS, refusal
from kgroup.values import dataclass
from kgroup.wire.messages import FetchRequest, FetchResponse
from kgroup.wire.schema import Message, Request

_log = logging.getLogger(__name__)

_SLACK: Final = 1e-9
"""Seconds by which a clock may be early, because floats are."""

_KEPT: Final = 64
"""Answers that are remembered, so that a wait in vain can name what was refused."""

_CLIENT_HOST: Final = "/127.0.0.1"


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as it arrived.

    Args:
        at: instant on the broker's clock, seconds.
        node_id: the broker.
        connection: number of the connection, over all brokers.
        client_id: name the client gave itself, None without one.
        version: it was written in.
        request: the message.
    """

    at: float
    node_id: int
    connection: int
    client_id: str | None
    version: int
    request: Request[Any]


@dataclass(frozen=True, slots=True)
class Reaction:
    """What the cluster answered to a request, whatever a rule made of it on its way."""

    at: float
    node_id: int
    client_id: str | None
    request: Request[Any]
    answer: Message


class Switchboard:
    """Connections to one cluster.

    Args:
        core: the cluster.

    `clock` tells the time in seconds on the cluster's agenda; without one, time stands still.
    `listeners` are called, under the lock, after anything may have changed. `settle` is called,
    without the lock, after brokers went up or down, and returns when clients would notice.
    `slowness` has seconds by which every answer of a broker is late, by node id. `lines` are the
    connections that are open, by number. `reactions` are the last answers, without those that may
    be big.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.clock: Callable[[], float] = self._stand_still
        self.lock: RLock = RLock()
        self.answers: Answers = Answers(self.changing)
        self.arrivals: list[Arrival] = []
        self.reactions: deque[Reaction] = deque(maxlen=_KEPT)
        self.lines: dict[int, Line] = {}
        self.slowness: dict[int, float] = {}
        self.listeners: list[Callable[[], None]] = []
        self.settle: Callable[[], None] = _at_once
        self._later = Agenda()
        self._free: deque[Line] = deque()
        self._replies: deque[Reply] = deque()
        self._asking: dict[int, Line] = {}
        self._borrowed = 0
        self._telling = False
        self._brokers_changed = False
        self._tickets = 0
        self._connected = 0

    # -- time ------------------------------------------------------------------------------------

    def _stand_still(self) -> float:
        return self.now

    @property
    def now(self) -> float:
        """The last instant that was looked at."""
        return self.core.context.agenda.now

    @property
    def next_at(self) -> float:
        """When something is due next, infinity without anything."""
        return min(self.core.context.agenda.next_at, self._later.next_at)

    def look(self) -> None:
        """Let time pass up to the present; what was due is done, each at its own instant."""
        with self.changing():
            pass

    def _pass_to(self, now: float) -> None:
        while (due := self.next_at) <= now + _SLACK:
            self._tell(due)
        self._tell(now)

    def _tell(self, instant: float) -> None:
        self.core.context.agenda.run(instant)
        self._settle()
        self._later.run(instant)

    @contextmanager
    def changing(self) -> Iterator[Core]:
        """Lend the core out for a change, at the present instant.

        Afterwards everything that has an answer by it is on its way, and waiting clients wake up.
        """
        with self.lock:
            self._borrowed += 1
            try:
                with self._telling_listeners():
                    self._pass_to(self.clock())
                    yield self.core
            finally:
                self._borrowed -= 1
            settle = self._brokers_changed and not self._borrowed
            self._brokers_changed = self._brokers_changed and not settle
        if settle:
            self.settle()

    @contextmanager
    def _telling_listeners(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._settle()
            before, self._telling = self._telling, True
            try:
                for listener in [*self.listeners]:
                    listener()
            finally:
                self._telling = before

    @contextmanager
    def looking(self) -> Iterator[Core]:
        """Lend the core out for a look, at the present instant.

        A listener may look too: it is not called again for that.
        """
        with self.lock:
            if not self._telling:
                self.look()
            yield self.core

    def brokers_changed(self) -> None:
        """Note, within `changing`, that a broker went up or down."""
        self._brokers_changed = True

    # -- connections -----------------------------------------------------------------------------

    def node_at(self, host: str, port: int) -> int | None:
        """Return the id of the broker that has an address, None if none has."""
        nodes = self.core.cluster.nodes.values()
        return next((n.node_id for n in nodes if (n.host, n.port) == (host, port)), None)

    def connect(self, node_id: int, wake: Callable[[], None]) -> Line:
        """Open a connection to a broker.

        Raises:
            ConnectionRefusedError: the broker is down.
        """
        with self.lock:
            node = self.core.cluster.nodes[node_id]
            if not node.alive:
                raise ConnectionRefusedError(f"{node.host}:{node.port} refuses connections")
            self._connected += 1
            line = Line(self._connected, node_id, wake)
            self.lines[line.number] = line
            return line

    def disconnect(self, line: Line, *, reset: bool = False) -> None:
        """Note that a client has closed its connection.

        Args:
            line: the connection.
            reset: see `Line.close`.
        """
        with self.changing():
            line.close(reset=reset)
            if line.ended:
                self._forget(line)

    def _forget(self, line: Line) -> None:
        if self.lines.pop(line.number, None) is not None:
            self.core.disconnected(line.number)
            # What was parked may never be answered, and its ticket would stay.
            for ticket in [each for each, asked in self._asking.items() if asked is line]:
                del self._asking[ticket]

    def cut(self, node_id: int, client_id: str | None = None, *, reset: bool) -> None:
        """Close connections of a broker; a change, so to be called within `changing`.

        What has been answered by then is on its way before.

        Args:
            node_id: the broker.
            client_id: only those of a client, None = all.
            reset: see `Line.hang_up`.
        """
        self._settle()
        for line in [*self.lines.values()]:
            if line.node_id == node_id and client_id in (None, line.client_id):
                line.hang_up(reset=reset)
                self._forget(line)

    def receive(self, line: Line, data: bytes) -> None:
        """Take bytes that came over a connection."""
        with self.changing():
            for question in line.feed(data):
                if question.request is not None:
                    self.arrivals.append(self._arrival(line, question, question.request))
            self._free.append(line)

    def _arrival(self, line: Line, question: Question, request: Request[Any]) -> Arrival:
        return Arrival(
            self.now, line.node_id, line.number, question.client_id, question.version, request
        )

    # -- questions -------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Bring answers to their lines, and let each line go on with what waits behind them."""
        while True:
            self._replies.extend(self.core.context.outbox.take())
            while self._replies:  # a rule of the test may raise; the others are answered later
                self._answer(self._replies.popleft())
            if not self._free:
                return
            line = self._free.popleft()
            question = line.next_question()
            if question is not None:
                self._ask(line, question)

    def _ask(self, line: Line, question: Question) -> None:
        request = question.request
        if request is None or not self.core.serves(type(request), question.version):
            self._refuse(line, question)
            return
        rule = self.answers.before(line.node_id, question.client_id, request)
        if isinstance(rule, HeldRequests):
            rule.take(request, partial(self._ask_now, line, question, request))
        elif rule is not None:
            self._end(line)
            if isinstance(rule.effect, Error):
                code = rule.effect.code
                if isinstance(request, FetchRequest) and code not in OF_SESSIONS:
                    fetches = self.core.fetches
                    request = fetches.spelled_out(line.node_id, request, question.version)
                answer = refusal(request, question.version, code)
                self._note(line, question, answer)
                self._put(line, Slot(question.encode(answer)))
        else:
            self._ask_now(line, question, request)

    def _ask_now(self, line: Line, question: Question, request: Request[Any]) -> None:
        if line.asking is not question:
            return  # it was held, and its connection has ended meanwhile
        self._tickets += 1
        self._asking[self._tickets] = line
        name, version = question.client_id, question.version
        asked = Asked(self._tickets, line.node_id, line.number, name, _CLIENT_HOST, version)
        self.core.ask(asked, request)

    def _refuse(self, line: Line, question: Question) -> None:
        self._end(line)
        if question.api_key is not ApiKey.API_VERSIONS:
            _warn(line, question)
            line.put(Slot(b"", then_hang_up=True))
            return
        answer = unsupported_version(self.core.context.release)
        self._put(line, Slot(question.encode(answer, version=0)))

    def _end(self, line: Line) -> None:
        """Let the next question of a connection have its turn."""
        line.answered()
        if line.ended:
            self._forget(line)
        else:
            self._free.append(line)

    # -- answers ---------------------------------------------------------------------------------

    def _answer(self, reply: Reply) -> None:
        line = self._asking.pop(reply.ticket, None)
        if line is None or line.asking is None:
            return  # its connection has ended
        question = line.asking
        self._end(line)
        match reply.answer:
            case NoAnswer():
                pass
            case HungUp():
                line.put(Slot(b"", then_hang_up=True))
            case answer:
                self._send(line, question, answer)

    def _send(self, line: Line, question: Question, answer: Message) -> None:
        assert question.request is not None
        self._note(line, question, answer)
        rule = self.answers.after(line.node_id, question.client_id, question.request)
        if rule is None:
            self._put(line, Slot(question.encode(answer)))
            return
        for slot in rule.slots(question, answer, line):
            self._put(line, slot, delay_of(rule.effect))

    def _note(self, line: Line, question: Question, answer: Message) -> None:
        if question.request is not None and not isinstance(answer, FetchResponse):
            self.reactions.append(
                Reaction(self.now, line.node_id, question.client_id, question.request, answer)
            )

    def _put(self, line: Line, slot: Slot, delay: float = 0.0) -> None:
        """Queue an answer, late by what its rule and its broker want."""
        late = delay + self.slowness.get(line.node_id, 0.0)
        if late > 0 and slot.ready_at < math.inf:
            slot.ready_at = self.now + late
            self._later.at(slot.ready_at, line.wake)
        line.put(slot)


def _warn(line: Line, question: Question) -> None:
    """Say why a connection is closed, where a person may wonder."""
    api = "a request" if question.api_key is None else question.api_key.name
    problem = question.problem or "not served"
    _log.warning(
        "node=%d client_id=%s connection closed for %s v%d: %s",
        line.node_id, question.client_id, api, question.version, problem,
    )  # fmt: skip


def _at_once() -> None:
    """Stands for `settle` while there are no sockets."""
