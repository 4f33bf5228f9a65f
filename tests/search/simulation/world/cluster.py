"""The brokers of one run: the in-process core, asked by objects or through bytes.

Decides: which process may connect, where a question for any broker goes, how long a message takes,
and which of the coordinator's decisions are journalled.
Never: decides what a broker answers; the core does.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from kgroup.codes import ApiKey
from kgroup.journal import CommitStored, Sink
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Asked, HungUp, NoAnswer, Outbox
from kgroup.testing.broker.cluster.cluster import OFFSETS_TOPIC
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.groups.shard import Shard
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind, release_named
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.types import TopicPartition
from kgroup.wire.frames import request_class
from kgroup.wire.messages import OffsetCommitRequest, SyncGroupRequest
from kgroup.wire.schema import Message, Request, decode, encode
from tests.search.simulation.choices import Choices
from tests.search.simulation.plan import Plan
from tests.search.simulation.recorder import stored
from tests.search.simulation.world.network import Heap, Link, Reach
from tests.search.simulation.world.process import Process

GROUP: Final = "g"
_RELEASES: Final = {CoordinatorKind.NEW: "4.3", CoordinatorKind.OLD: "3.9"}
_BY_NAME: Final = {ApiKey.OFFSET_COMMIT: 9, ApiKey.OFFSET_FETCH: 9}
"""The last versions that name topics; what writes their ids instead lives in `net`."""
_JITTER: Final = (1.0, 1.0, 1.0, 1.5, 1.0, 2.0, 1.0, 5.0)
"""Times the plain latency."""


class Brokers:
    """The brokers of one run, and the network to them.

    Args:
        plan: says how many, and which topics.
        choices: the run's chance.
        through_bytes: whether each message is encoded and decoded (level A').
    """

    def __init__(self, plan: Plan, choices: Choices, *, through_bytes: bool) -> None:
        release = release_named(_RELEASES[plan.coordinator])
        settings = BrokerSettings(
            min_session_timeout=1.0, offsets_partitions=1, auto_create_topics=False
        )
        self.agenda: Agenda = Agenda()
        context = Context(
            self.agenda, Outbox(), settings, release, plan.coordinator, Mint(0), 1_700_000_000.0
        )
        self.core: Core = Core(context, plan.brokers)
        for topic, count in plan.topics.items():
            self.core.cluster.create_topic(topic, count)
        self.heap: Heap = Heap(self.agenda, context.outbox, self._flush)
        self.links: list[Link] = []
        self.sink: Sink | None = None
        """Takes what the coordinator has stored."""
        self._choices = choices
        self._latency = plan.latency
        self._order = plan.order
        self._through_bytes = through_bytes
        self._asking: dict[int, tuple[Link, Request[Any]]] = {}
        self._tickets = 0
        self._versions = _highest(release.name)

    # -- what processes see ----------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The present instant, seconds."""
        return self.agenda.now

    def at(self, instant: float, act: Callable[..., None], *args: Any) -> None:
        """Do something at an instant."""
        self.heap.at(instant, act, *args)

    def delay(self, reach: Reach) -> float:
        """Return how long one message takes: drawn, unless members have an order."""
        if self._order is not None:
            return self._latency * self._order.times(reach.name, self.agenda.now)
        return self._latency * _JITTER[self._choices.choose(reach.name, len(_JITTER))]

    def any_node(self, name: str) -> int:
        """Return the broker that a question for any broker goes to: one that lives, in turn."""
        alive = [each.node_id for each in self.core.cluster.nodes.values() if each.alive]
        if not alive:
            return 1
        return alive[self._choices.choose(f"{name}/any", len(alive))]

    def counts(self) -> Mapping[str, int]:
        """Return topic -> partitions, of those that are there."""
        topics = self.core.cluster.topics.values()
        return {each.name: len(each.partitions) for each in topics if not each.internal}

    def connect(self, process: Process, node_id: int) -> Link | None:
        """Open a connection; None: the broker is down."""
        if not self.core.cluster.nodes[node_id].alive:
            return None
        link = Link(self, process.reach, node_id, len(self.links) + 1)
        self.links.append(link)
        return link

    # -- questions and answers -------------------------------------------------------------------

    def ask(self, link: Link, request: Request[Any]) -> None:
        """Give a request to its broker."""
        refused = link.reach.refuse(request)
        if refused is not None:
            link.reply(refused)
            return
        ticket = self._tickets = self._tickets + 1
        self._asking[ticket] = (link, request)
        version = self._versions[request.api_key]
        if self._through_bytes:
            request = decode(type(request), version, encode(request, version))
        asked = Asked(ticket, link.node_id, link.number, link.reach.name, "/127.0.0.1", version)
        self.core.ask(asked, request)

    def ask_unheard(self, node_id: int, request: Request[Any]) -> None:
        """Ask a broker as a client that is never heard of again; the answer is not awaited."""
        self._tickets += 1
        version = self._versions[request.api_key]
        asked = Asked(self._tickets, node_id, 0, "unheard", "/127.0.0.1", version)
        self.core.ask(asked, request)

    def carried(self, request: Request[Any], answer: Message) -> Message:
        """Return an answer as it is after the network."""
        if not self._through_bytes:
            return answer
        version = self._versions[request.api_key]
        return decode(type(answer), version, encode(answer, version))

    def _flush(self) -> None:
        """Send what the core has answered."""
        outbox = self.core.context.outbox
        while replies := outbox.take():
            for reply in replies:
                asking = self._asking.pop(reply.ticket, None)
                if asking is None:
                    continue
                link, request = asking
                if isinstance(reply.answer, (HungUp, NoAnswer)):
                    link.reply(None)
                    continue
                self._tell(request, reply.answer)  # also when it is not awaited any more
                link.reply(reply.answer)

    def _tell(self, request: Request[Any], answer: Message) -> None:
        if isinstance(request, (OffsetCommitRequest, SyncGroupRequest)) and self.sink is not None:
            for event in stored(request, answer, self.shard.groups.get(GROUP)):
                self.sink.emit(event)

    # -- what happens to them --------------------------------------------------------------------

    @property
    def shard(self) -> Shard:
        """Where the group is."""
        return self.core.coordinators.shard_of(GROUP)

    @property
    def coordinator(self) -> int | None:
        """Node id of the coordinator, None while there is none."""
        return self.core.coordinators.homes[self.shard.partition]

    def delete_offsets(self) -> None:
        """Delete what the group has committed, as an administrator does."""
        gone = tuple(self.shard.offsets.of(GROUP))
        self.shard.offsets.remove_group(GROUP)
        self._tell_deleted(gone)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic, and with it what was committed of it."""
        gone = tuple(tp for tp in self.shard.offsets.of(GROUP) if tp.topic == topic)
        self.core.cluster.delete_topic(topic)
        self._tell_deleted(gone)

    def _tell_deleted(self, partitions: tuple[TopicPartition, ...]) -> None:
        for tp in partitions:
            if self.sink is not None:
                self.sink.emit(CommitStored(tp=tp, offset=None))

    def kill(self, node_id: int) -> None:
        """End a broker without a word."""
        self.core.cluster.kill(node_id)
        for link in self.links:
            if link.node_id == node_id and not link.closed:
                link.cut("the broker died")

    def move_coordinator(self, node_id: int) -> None:
        """Have another broker coordinate."""
        tp = TopicPartition(OFFSETS_TOPIC, self.shard.partition)
        self.core.cluster.elect(tp, node_id, resigned=True)


@cache
def _highest(name: str) -> Mapping[ApiKey, int]:
    release, found = release_named(name), {}
    for api in ApiKey:
        spoken = [v for v in request_class(api).VERSIONS if release.speaks(api, v)]
        if spoken:
            found[api] = min(spoken[-1], _BY_NAME.get(api, spoken[-1]))
    return MappingProxyType(found)
