"""A recorded conversation, held once more with the in-process broker under the agenda.

Decides: the order of things. Each request is asked at its recorded instant, one at a time per
connection (rule G1), and what happens to the coordinator happens when the notes say so.
Never: judges; `differences` of each outcome does.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.releases import release_named
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import InitProducerIdResponse, MetadataResponse
from kgroup.wire.schema import Message, Request, replace
from tests.testing.broker.driver import CALENDAR_START, Call, Raw
from tests.testing.broker.traces.exceptions import LATE, LEFT_OUT
from tests.testing.broker.traces.moves import Moves, moves_of
from tests.testing.broker.traces.polls import polls_of
from tests.testing.broker.traces.recorded import Exchange, Trace
from tests.testing.broker.traces.scripted_mint import ScriptedMint

_TOPICS: Final = ("t", "u")
_PARTITIONS: Final = 2
_MARKER_DELAY: Final = 0.07
"""Seconds: the markers of a transaction were written 5 to 50 ms after EndTxn was answered."""
_ASSIGNMENT_INTERVAL: Final = 0.98
"""Seconds between two targets of KIP-848: 1 s there, between instants that are not recorded."""
_AFTERWARDS: Final = 0.5
"""Seconds that the replay goes on after the trace, for answers that come late."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request here.

    Args:
        exchange: what became of it there.
        call: here; None = the connection ended before its turn came.
        left_out: it was not asked, see `exceptions`.
    """

    exchange: Exchange
    call: Call[Any] | None
    left_out: bool = False


def replay(trace: Trace) -> list[Outcome]:
    """Hold the conversation of a trace and return what became of each request."""
    moves = moves_of(trace)
    exchanges = [*trace.exchanges, *polls_of(trace)]
    mint = ScriptedMint(trace.exchanges)
    core = _core(trace, moves, mint)
    talk = _Talk(Raw(core), mint, moves)
    steps: list[tuple[float, int, Callable[[], None]]] = []
    for at, act in moves.steps(core):
        steps.append((at, 0, act))
    for exchange in exchanges:
        if key_of(trace, exchange) in LEFT_OUT:
            continue
        steps.append((_asked_at(trace, exchange), 1, _Send(talk, exchange)))
        if exchange.ended_at < float("inf"):
            steps.append((exchange.ended_at, 2, _End(talk, exchange.line)))
    for at, _, act in sorted(steps, key=lambda step: step[:2]):
        talk.until(moves.lead + at)
        act()
    talk.until(moves.lead + trace.ends_at + _AFTERWARDS)
    return [
        Outcome(
            exchange, talk.calls.get(id(exchange)), left_out=key_of(trace, exchange) in LEFT_OUT
        )
        for exchange in exchanges
    ]


def key_of(trace: Trace, exchange: Exchange) -> tuple[str, str, int]:
    """Name an exchange as the tables of `exceptions` do."""
    return trace.name, exchange.name, exchange.correlation


def _asked_at(trace: Trace, exchange: Exchange) -> float:
    late = key_of(trace, exchange) in LATE
    return exchange.answered_at if late and exchange.answered_at else exchange.at


def _core(trace: Trace, moves: Moves, mint: ScriptedMint) -> Core:
    release = release_named(trace.release)
    context = Context(
        Agenda(),
        Outbox(),
        _settings(trace, moves),
        release,
        release.coordinator,
        mint,
        CALENDAR_START,
    )
    core = Core(context, moves.nodes)
    for topic in _TOPICS:
        core.cluster.create_topic(topic, _PARTITIONS)
    return core


def _settings(trace: Trace, moves: Moves) -> BrokerSettings:
    there = trace.settings
    size = there.get("group.max.size")
    minutes = float(there.get("offsets.retention.minutes", 7 * 24 * 60))
    return BrokerSettings(
        min_session_timeout=1.0,
        offsets_partitions=4,
        initial_rebalance_delay=int(there["group.initial.rebalance.delay.ms"]) / 1000,
        max_group_size=None if size is None else int(size),
        offsets_retention=minutes * 60,
        offsets_retention_check=int(there.get("offsets.retention.check.interval.ms", 600_000))
        / 1000,
        consumer_assignment_interval=_ASSIGNMENT_INTERVAL,
        load_time=moves.load_time,
        marker_delay=_MARKER_DELAY,
        election_delay=moves.election_delay,
    )


@dataclass(slots=True)
class _Talk:
    """Both sides' state of the conversation."""

    raw: Raw
    mint: ScriptedMint
    moves: Moves
    calls: dict[int, Call[Any]] = field(default_factory=dict)
    queues: dict[int, deque[Exchange]] = field(default_factory=dict)
    busy: dict[int, tuple[Exchange, Call[Any]]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    producers: dict[int, int] = field(default_factory=dict)
    topic_ids: dict[bytes, bytes] = field(default_factory=dict)

    def until(self, instant: float) -> None:
        """Let time pass, timer by timer, so that what queues behind an answer follows it."""
        agenda = self.raw.core.context.agenda
        while agenda.next_at <= instant:
            self.raw.until(agenda.next_at)
            self.go_on()
        self.raw.until(instant)

    def send(self, exchange: Exchange) -> None:
        if exchange.line not in self.ended:
            self.queues.setdefault(exchange.line, deque()).append(exchange)
            self.go_on()

    def end(self, line: int) -> None:
        """Close a connection; of what waits behind a parked request the first is still served."""
        self.ended.add(line)
        waiting = self.queues.pop(line, None)
        if line in self.busy and waiting:
            self.queues[line] = deque([waiting[0]])
        else:
            self.busy.pop(line, None)

    def go_on(self) -> None:
        """Ask whatever is next on a connection that nothing is parked on."""
        moved = True
        while moved:
            moved = False
            for line, (exchange, call) in [*self.busy.items()]:
                if not call.parked:
                    del self.busy[line]
                    self._learn(exchange, call)
            for line, queue in [*self.queues.items()]:
                if queue and line not in self.busy:
                    self._ask(queue.popleft())
                    moved = True

    def _ask(self, exchange: Exchange) -> None:
        self.mint.asked = exchange
        if exchange.request is None:
            self._refuse(exchange)
            return
        call: Call[Any] = self.raw.ask(
            self.moves.node_of(exchange),
            self._rewritten(exchange.request),
            version=exchange.version,
            client=exchange.client,
            connection=exchange.line,
        )
        self.calls[id(exchange)] = call
        self.busy[exchange.line] = (exchange, call)

    def _refuse(self, exchange: Exchange) -> None:
        """Stand for the bytes of a version that kgroup cannot read: no broker part sees them."""
        self.calls[id(exchange)] = Call(0, None, exchange.version, hung_up=True)

    def _learn(self, exchange: Exchange, call: Call[Any]) -> None:
        there, here = exchange.answer, call.answer
        if isinstance(there, MetadataResponse) and isinstance(here, MetadataResponse):
            ours = {topic.name: topic.topic_id for topic in here.topics}
            for topic in there.topics:
                if any(topic.topic_id):  # older answers have none
                    self.topic_ids[topic.topic_id] = ours[topic.name]
        if not isinstance(there, InitProducerIdResponse) or there.error_code:
            return
        if isinstance(here, InitProducerIdResponse):
            self.producers[there.producer_id] = here.producer_id

    def _rewritten(self, request: Request[Any]) -> Request[Any]:
        """Put our producer id, and our topic ids, in the place of the recorded ones."""
        if self.topic_ids:
            request = _with_ids(request, self.topic_ids)
        there = getattr(request, "producer_id", None)
        if there not in self.producers:
            return request
        return replace(request, producer_id=self.producers[there])


def _with_ids(part: Any, ids: Mapping[bytes, bytes]) -> Any:
    if isinstance(part, tuple):
        return tuple(_with_ids(each, ids) for each in part)
    if not isinstance(part, Message):
        return part
    inner = {name: _with_ids(getattr(part, name), ids) for name in part.FIELDS}
    if "topic_id" in inner:
        inner["topic_id"] = ids.get(bytes(inner["topic_id"]), inner["topic_id"])
    return replace(part, **inner)


@dataclass(frozen=True, slots=True)
class _Send:
    talk: _Talk
    exchange: Exchange

    def __call__(self) -> None:
        self.talk.send(self.exchange)


@dataclass(frozen=True, slots=True)
class _End:
    talk: _Talk
    line: int

    def __call__(self) -> None:
        self.talk.end(self.line)
