"""Members of a classic group on an in-process Kafka, for the tests of the classic backend."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from kgroup.assignors import BUILT_IN
from kgroup.backends.classic.backend import ClassicBackend
from kgroup.journal import MemorySink
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Dial
from kgroup.net.settings import NetSettings
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles import NodeHandle
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.broker.server.faults import Answers, Rule
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Claim, MemberState, OffsetAndMetadata, Subscription, TopicPartition
from kgroup.wire.messages import JoinGroupRequest, MetadataRequest, OffsetCommitRequest
from kgroup.wire.schema import Request
from tests.consumer.ground import hidden
from tests.consumer.peers import LONGEST_SESSION, Peers
from tests.contracts.application import Application, Listener, no_listener, until

SESSION, HEARTBEAT, REBALANCE = 10.0, 3.0, 60.0
TOPIC = "t"

PATIENT = BrokerSettings(max_session_timeout=LONGEST_SESSION)


def settings(*assignors: str, **options: Any) -> MembershipSettings:
    """Return a member's settings: cooperative unless assignors are named."""
    chosen = tuple(BUILT_IN[name] for name in assignors or ("cooperative-sticky",))
    defaults = MembershipSettings(
        group_id="g",
        assignors=chosen,
        session_timeout=SESSION,
        heartbeat_interval=HEARTBEAT,
        rebalance_timeout=REBALANCE,
    )
    return replace(defaults, **options)


def partitions(*numbers: int, topic: str = TOPIC) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for number in numbers)


@dataclass(slots=True, eq=False)
class Member:
    """One member of the scene."""

    backend: ClassicBackend
    application: Application
    cluster: Cluster
    sink: MemorySink
    scope: anyio.CancelScope
    over: anyio.Event
    error: BaseException | None = None

    async def reaches(self, state: MemberState, within: float = 30.0) -> None:
        """Wait until the member is in a state."""
        await until(lambda: self.backend.membership.state is state, within, f"state {state.name}")

    async def ends(self, within: float = 30.0) -> None:
        """Wait until its run is over; `error` says how."""
        await until(self.over.is_set, within, "the end of the run")

    @property
    def member_id(self) -> str:
        """The id the coordinator gave it."""
        generation = self.backend.membership.generation
        assert generation is not None
        return generation.member_id

    async def owns(self, wanted: Iterable[TopicPartition], within: float = 60.0) -> None:
        """Wait until exactly these partitions are owned and every change is settled."""
        expected = frozenset(wanted)
        what = f"owns {sorted(expected)}"
        await until(lambda: self.application.settled() == expected, within, what)

    def claim(self, number: int) -> Claim:
        return self.application.claim(TopicPartition(TOPIC, number))


@dataclass(slots=True, eq=False)
class Scene:
    """A cluster, the group on it, and its members."""

    broker: InProcessBroker
    group: GroupHandle
    peers: Peers
    tasks: Any
    metadata_max_age: float
    dial: Dial
    seed: int = 0

    async def member(
        self,
        chosen: MembershipSettings | None = None,
        *,
        subscription: Subscription | None = None,
        listener: Listener = no_listener,
        exclude_internal_topics: bool = True,
    ) -> Member:
        """Start a member with its application."""
        used = chosen or settings()
        net = NetSettings(
            bootstrap=self.broker.bootstrap,
            client_id="kgroup",
            metadata_max_age=self.metadata_max_age,
        )
        cluster = Cluster(net, virtual_ports(self.dial, seed=self.seed))
        sink = MemorySink()
        backend = ClassicBackend(
            used, cluster, sink, exclude_internal_topics=exclude_internal_topics
        )
        application = Application(
            backend,
            anyio.current_time,
            poll_interval=used.rebalance_timeout / 4,
            listener=listener,
        )
        scope, over = anyio.CancelScope(), anyio.Event()
        member = Member(backend, application, cluster, sink, scope, over)
        backend.subscribe(subscription or Subscription(topics=frozenset({TOPIC})))
        self.tasks.start_soon(self._play, member)
        return member

    async def _play(self, member: Member) -> None:
        """Run it to its end; how it failed is kept."""
        with member.scope:
            async with anyio.create_task_group() as tasks:
                await tasks.start(member.cluster.run)
                tasks.start_soon(member.application.run)
                try:
                    await member.backend.run(task_status=anyio.TASK_STATUS_IGNORED)
                except Exception as error:  # noqa: BLE001 - the test judges it
                    member.error = error
                tasks.cancel_scope.cancel()
        member.over.set()

    async def joined(self, chosen: MembershipSettings | None = None, **options: Any) -> Member:
        """Start a member and wait until it is Stable, heard of everything, and proved it."""
        member = await self.member(chosen, **options)
        await until(member.application.settled, 100.0, "owns something")
        return member

    # -- what happens ----------------------------------------------------------------------------

    @property
    def answers(self) -> Answers:
        """What goes wrong on the way."""
        return self.broker.answers

    def refuse(self, kind: type[Request[Any]], code: int) -> Rule:
        """Have requests of a class answered by an error until the rule is cancelled."""
        return self.broker.answers.error(kind, code, times=None)

    def go_down(self) -> NodeHandle:
        """Have the coordinator die; it may be started again."""
        node = self.broker.node(self.coordinator)
        node.kill()
        return node

    def mute(self, node_id: int) -> Rule:
        """Have a broker take requests, read none of them and never answer."""
        return self.answers.ignore(Request, node=node_id, times=None)

    def hang_up(self) -> None:
        """Reset the connections of the coordinator."""
        self.broker.node(self.coordinator).disconnect()

    def hide(self, topic: str, code: int) -> Rule:
        """Have Metadata answer for a topic with an error until the rule is cancelled."""

        return self.answers.rewrite(
            MetadataRequest, lambda _, answer: hidden(topic, code, answer), times=None
        )

    def lead(self, member: Member) -> None:
        """Make a member the one that leads the next round."""
        with self.broker.changing() as core:
            group = core.coordinators.shard_of("g").groups["g"]
            group.leader_id = member.member_id

    # -- what has happened -----------------------------------------------------------------------

    @property
    def coordinator(self) -> int:
        """Id of the coordinator."""
        home = self.group.coordinator
        assert home is not None
        return home

    def seen(self, kind: type[Request[Any]], node: int | None = None) -> list[Arrival]:
        """Return the arrivals of a class, in order, at one broker or all."""
        return [
            each
            for each in self.broker.requests
            if isinstance(each.request, kind) and node in (None, each.node_id)
        ]

    def all_seen(self) -> list[Arrival]:
        """Return all arrivals at all brokers, in order."""
        return [*self.broker.requests]

    def committed(self, tp: TopicPartition) -> int | None:
        """Return the committed offset, None when nothing is committed."""
        found = self.group.offsets.get(tp)
        return None if found is None else found.offset

    def committing(self) -> list[int]:
        """Return the generation that each OffsetCommit named."""
        asked = self.broker.requests_of(OffsetCommitRequest)
        return [each.generation_id_or_member_epoch for each in asked]


def at(seen: Arrival) -> float:
    """When a request arrived."""
    return seen.at


def claims_of(member: Member) -> frozenset[TopicPartition]:
    """Return what a member owns, settled or not."""
    return member.backend.membership.partitions


def joins(on: Scene) -> list[JoinGroupRequest]:
    return on.broker.requests_of(JoinGroupRequest)


async def next_round(member: Member) -> None:
    before = member.backend.membership.rebalances
    member.backend.enforce_rebalance("the test wants a round")
    await until(lambda: member.backend.membership.rebalances > before, 30.0, "a round")


async def another_waits(on: Scene, member: Member) -> None:
    """Have a round begin that does not end, because somebody else does not come."""
    on.peers.expect_somebody()
    on.group.rebalance()
    await member.reaches(MemberState.JOINING)


def offset(number: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(number)


@asynccontextmanager
async def scene(
    brokers: int = 1,
    *,
    count: int = 4,
    latency: float = 0.0,
    metadata_max_age: float = 300.0,
    brokers_settings: BrokerSettings = PATIENT,
    **topics: int,
) -> AsyncIterator[Scene]:
    """Set up a group on topic `t`, coordinated by broker 1; members end with the block."""
    broker = InProcessBroker(
        nodes=brokers,
        topics={TOPIC: count, **topics},
        settings=brokers_settings,
    )
    group = broker.group("g")
    if group.coordinator != 1:
        group.move_to(1)
    if latency:
        for number in range(1, brokers + 1):
            broker.node(number).slow(latency)
    peers = Peers(broker, "g")
    async with anyio.create_task_group() as tasks:
        yield Scene(broker, group, peers, tasks, metadata_max_age, broker.dial)
        tasks.cancel_scope.cancel()
