"""Fetch: the answer, at once or when there is enough to tell.

Decides: when a fetch is answered: at once if it does not want to wait, has enough bytes, or must
hear of an error, a parting of logs or a closer replica; otherwise when one of these comes true, or
its time is up. Then everything is read anew.
Never: knows records; `reading` and the log do.

An unknown topic or partition is no reason not to wait, as long as there is another one to wait for.
"""

from functools import partial
from typing import Any

from kgroup.codes import ErrorCode
from kgroup.testing.broker.agenda import Bell, Timer
from kgroup.testing.broker.asked import PARKED, Answer, Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.fetching.plans import Incremental, Plan, plan
from kgroup.testing.broker.fetching.reading import Reader, unknown
from kgroup.testing.broker.fetching.sessions import SessionCache
from kgroup.testing.broker.fetching.wanted import Place, Terms, Wanted
from kgroup.values import dataclass
from kgroup.wire.messages import (
    FetchableTopicResponse,
    FetchNodeEndpoint,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kgroup.wire.schema import Request, replace


@dataclass(slots=True)
class WaitingFetch:
    """A fetch that is parked.

    Args:
        asked: where it came from.
        terms: of all its partitions.
        plan: its session.
        readable: what is read.
        missing: what does not exist; the answer names it at the end.
        bells: of the logs that it waits for.
        timer: the end of its time.
    """

    asked: Asked
    terms: Terms
    plan: Plan
    readable: dict[Place, Wanted]
    missing: dict[Place, PartitionData]
    bells: list[Bell]
    timer: Timer | None = None


class Fetches:
    """Fetching from one cluster.

    Args:
        context: clock, answers, settings.
        cluster: topics, leaders, logs.

    Attributes:
        sessions: by node id.
        waiting: parked fetches, by ticket.
    """

    def __init__(self, context: Context, cluster: Cluster) -> None:
        self._context = context
        self._cluster = cluster
        self._reader = Reader(cluster, follower_reads=context.settings.follower_reads)
        self.sessions: dict[int, SessionCache] = {
            node_id: SessionCache(context) for node_id in cluster.nodes
        }
        self.waiting: dict[int, WaitingFetch] = {}
        cluster.on_node_down.append(self.node_down)

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {FetchRequest: self.fetch}

    def fetch(self, asked: Asked, request: FetchRequest) -> Answer:
        """Answer Fetch, or park it."""
        made = plan(self.sessions[asked.node_id], request, asked.version, self._name_of)
        readable, missing = {}, {}
        for place, wanted in made.wanted.items():
            code = self._reader.unknown(wanted)
            if code:
                missing[place] = unknown(wanted.row.partition, code)
            else:
                readable[place] = wanted
        terms = Terms.of(asked.node_id, asked.version, request)
        waiting = WaitingFetch(asked, terms, made, readable, missing, [])
        read = self._reader.read_all(terms, readable)
        if request.max_wait_ms <= 0 or not readable or _is_enough(terms, read):
            return self._answer(waiting, read)
        if self._is_due(waiting):
            return self._answer(waiting, self._reader.read_all(terms, readable))
        self._park(waiting, request.max_wait_ms / 1000)
        return PARKED

    def spelled_out(self, node_id: int, request: FetchRequest, version: int) -> FetchRequest:
        """Return a fetch of a session with all that the session asks for; the session moves on.

        Any other fetch is returned as it is.
        """
        made = None
        if request.session_epoch > 0:
            made = plan(self.sessions[node_id], request, version, self._name_of)
        if not isinstance(made, Incremental):
            return request
        rows: dict[bytes | str, list[FetchPartition]] = {}
        for place, wanted in made.wanted.items():
            rows.setdefault(place.topic, []).append(wanted.row)
        named = [(_named(topic), tuple(each)) for topic, each in rows.items()]
        topics = tuple(FetchTopic(**name, partitions=each) for name, each in named)
        return replace(request, topics=topics)

    def disconnected(self, connection: int) -> None:
        """Forget what a connection that is closed still waits for; its sessions stay."""
        for waiting in [*self.waiting.values()]:
            if waiting.asked.connection == connection:
                self._unpark(waiting)

    def node_down(self, node_id: int) -> None:
        """Lose a broker's sessions and what was parked there."""
        self.sessions[node_id].sessions.clear()
        for waiting in [*self.waiting.values()]:
            if waiting.asked.node_id == node_id:
                self._unpark(waiting)

    def _name_of(self, topic_id: bytes) -> str | None:
        topic = self._cluster.topic_by_id(topic_id)
        return None if topic is None else topic.name

    # -- waiting ---------------------------------------------------------------------------------

    def _park(self, waiting: WaitingFetch, seconds: float) -> None:
        ticket = waiting.asked.ticket
        self.waiting[ticket] = waiting
        waiting.timer = self._context.agenda.after(seconds, partial(self._finish, ticket))
        for wanted in waiting.readable.values():
            partition = self._reader.find(waiting.terms, wanted)
            if not isinstance(partition, ErrorCode):
                waiting.bells.append(partition.log.bell)
                partition.log.bell.listen(ticket, partial(self._look, ticket))

    def _unpark(self, waiting: WaitingFetch) -> None:
        ticket = waiting.asked.ticket
        del self.waiting[ticket]
        for bell in waiting.bells:
            bell.leave(ticket)
        if waiting.timer is not None:
            waiting.timer.cancel()

    def _look(self, ticket: int) -> None:
        waiting = self.waiting.get(ticket)
        if waiting is not None and self._is_due(waiting):
            self._finish(ticket)

    def _finish(self, ticket: int) -> None:
        waiting = self.waiting[ticket]
        self._unpark(waiting)
        read = self._reader.read_all(waiting.terms, waiting.readable)
        self._context.outbox.reply(ticket, self._answer(waiting, read))

    def _is_due(self, waiting: WaitingFetch) -> bool:
        """Whether there is something to tell; bytes are counted, not read."""
        available = 0
        for wanted in waiting.readable.values():
            size = self._reader.available(waiting.terms, wanted)
            if size is None:
                return True
            available += size
        return available >= waiting.terms.min_bytes

    # -- answers ---------------------------------------------------------------------------------

    def _answer(self, waiting: WaitingFetch, read: dict[Place, PartitionData]) -> FetchResponse:
        outcome = waiting.plan.conclude({**read, **waiting.missing})
        topics: list[tuple[bytes | str, list[PartitionData]]] = []
        for place, data in outcome.rows.items():
            if not topics or topics[-1][0] != place.topic:
                topics.append((place.topic, []))
            topics[-1][1].append(data)
        return FetchResponse(
            error_code=outcome.error_code,
            session_id=outcome.session_id,
            responses=tuple(_topic(named, rows) for named, rows in topics),
            node_endpoints=self._endpoints(read),
        )

    def _endpoints(self, read: dict[Place, PartitionData]) -> tuple[FetchNodeEndpoint, ...]:
        """Return the addresses of the leaders that the answer names (KIP-951)."""
        named = {data.current_leader.leader_id for data in read.values()}
        nodes = [self._cluster.nodes[each] for each in sorted(named) if each >= 0]
        return tuple(
            FetchNodeEndpoint(node_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
            for one in nodes
        )


def _is_enough(terms: Terms, read: dict[Place, PartitionData]) -> bool:
    rows = read.values()
    if sum(len(data.records or b"") for data in rows) >= terms.min_bytes:
        return True
    return any(
        data.error_code or data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0
        for data in rows
    )


def _topic(named: bytes | str, rows: list[PartitionData]) -> FetchableTopicResponse:
    return FetchableTopicResponse(**_named(named), partitions=tuple(rows))


def _named(topic: bytes | str) -> dict[str, Any]:
    return {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}
