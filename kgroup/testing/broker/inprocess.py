"""`InProcessBroker`: a Kafka cluster in the process, as tests hold it in their hands.

Decides: how a cluster is set up, and how its parts are reached.
Never: keeps rules of Kafka's; the parts of `core` do.

In memory nothing has to be started or stopped, and time may be virtual:

    broker = InProcessBroker(topics={"orders": 6})
    ports = virtual_ports(broker.dial)

Clients that want sockets get them for as long as a block lasts:

    with broker.serve() as served:
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=served.bootstrap, group_id="g")
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any, Literal, Self, TypeVar

from kgroup.net.ports import Dial
from kgroup.testing.broker.agenda import Agenda
from kgroup.testing.broker.asked import Outbox
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.core import Core
from kgroup.testing.broker.handles import NodeHandle, PartitionHandle
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.broker.mint import Mint
from kgroup.testing.broker.releases import CoordinatorKind, release_named
from kgroup.testing.broker.server.faults import Answers
from kgroup.testing.broker.server.memory import MemoryNetwork
from kgroup.testing.broker.server.sockets import LOOPBACK, SocketServer
from kgroup.testing.broker.server.switchboard import Arrival, Switchboard
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.testing.broker.waiting import until, wait_until
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.schema import Request

Q = TypeVar("Q", bound=Request[Any])


@dataclass(kw_only=True, eq=False)
class InProcessBroker:
    """A Kafka cluster in the process.

    Args:
        nodes: how many brokers; their ids are 1 to n.
        topics: name -> number of partitions, of topics that are there from the start.
        release: the Kafka it passes for, such as `4.3.1` or `3.9.1`.
        settings: of every broker.
        coordinator: rules of the group coordinator, "old" or "new"; None = those of the release.
        racks: `broker.rack` of the brokers in order of their ids; those left out have none.
        seed: same seed and same requests, same member ids, topic ids and producer ids.
    """

    nodes: int = 1
    topics: Mapping[str, int] = field(default_factory=dict)
    release: str = "4.3.1"
    settings: BrokerSettings = field(default_factory=BrokerSettings)
    coordinator: CoordinatorKind | Literal["old", "new"] | None = None
    racks: Sequence[str | None] = ()
    seed: int = 0
    _board: Switchboard = field(init=False, repr=False)
    _network: MemoryNetwork = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Set the cluster up.

        Raises:
            TypeError: topics or settings are of another kind.
            ValueError: a release, number or name that cannot be.
        """
        if not isinstance(self.topics, Mapping):
            raise TypeError(
                f"topics are names and numbers of partitions, such as {{'orders': 3}}, "
                f"not {self.topics!r}"
            )
        if not isinstance(self.settings, BrokerSettings):
            raise TypeError(f"settings are a kgroup.testing.BrokerSettings, not {self.settings!r}")
        if self.nodes < 1:
            raise ValueError(f"nodes={self.nodes}: a cluster has at least one broker")
        if isinstance(self.racks, str) or len(self.racks) > self.nodes:
            raise ValueError(
                f"racks={self.racks!r}: one text or None for each of {self.nodes} broker(s)"
            )
        release = release_named(self.release)
        context = Context(
            Agenda(),
            Outbox(),
            self.settings,
            release,
            release.coordinator if self.coordinator is None else CoordinatorKind(self.coordinator),
            Mint(self.seed),
            WALL_AT_START,
        )
        core = Core(context, self.nodes)
        for node, rack in zip(core.cluster.nodes.values(), self.racks, strict=False):
            node.rack = rack
        for name, partitions in self.topics.items():
            core.cluster.create_topic(name, partitions)
        self._board = Switchboard(core)
        self._network = MemoryNetwork(self._board)

    # -- how clients reach it --------------------------------------------------------------------

    @property
    def dial(self) -> Dial:
        """The port by which kgroup's clients connect in memory."""
        return self._network

    @property
    def bootstrap(self) -> tuple[tuple[str, int], ...]:
        """Addresses of all brokers, as `NetSettings` takes them."""
        return tuple((node.host, node.port) for node in self.core.cluster.nodes.values())

    @property
    def bootstrap_servers(self) -> str:
        """The same as one text, as most clients take it: `127.0.0.1:40001,127.0.0.1:40002`."""
        return ",".join(f"{host}:{port}" for host, port in self.bootstrap)

    def serve(self) -> "Served":
        """Serve it on the loopback for as long as a `with` block lasts, in real time.

        Meanwhile there are no connections in memory, and all calls may come from any thread.
        """
        return Served(self._board)

    @property
    def core(self) -> Core:
        """The cluster itself: its state may be looked at, and copied by `copy.deepcopy`."""
        with self._board.looking() as core:
            return core

    @property
    def board(self) -> Switchboard:
        """Its connections, for tests that carry bytes themselves instead of by `dial`."""
        return self._board

    def changing(self) -> AbstractContextManager[Core]:
        """Lend the cluster out for a change that no handle has a verb for.

        The core is as it is at this instant; what a change answers is on its way afterwards.
        """
        return self._board.changing()

    def on_change(self, act: Callable[[], None]) -> None:
        """Have something called whenever anything may have changed.

        Args:
            act: must not block; it may look at anything, and if it makes changes itself
                (`changing`) it is called again.
        """
        self._board.listeners.append(act)

    # -- its parts -------------------------------------------------------------------------------

    def group(self, group_id: str) -> GroupHandle:
        """Return the handle of a consumer group, whether or not it exists yet."""
        return GroupHandle(self._board, group_id)

    def partition(self, topic: str, number: int = 0) -> PartitionHandle:
        """Return the handle of a partition.

        Raises:
            ValueError: there is no such partition.
        """
        handle = PartitionHandle(self._board, TopicPartition(topic, number))
        assert handle.epoch >= 0
        return handle

    def node(self, node_id: int | None) -> NodeHandle:
        """Return the handle of a broker.

        Args:
            node_id: such as 1, or what `partition.leader` and `group.coordinator` tell.

        Raises:
            ValueError: there is no such broker.
        """
        if node_id is None:
            raise ValueError("there is no broker None: nobody leads or coordinates it now")
        if node_id not in self.core.cluster.nodes:
            raise ValueError(f"there is no broker {node_id}; there are 1 to {self.nodes}")
        return NodeHandle(self._board, node_id)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replicas: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Make a topic; every broker knows it at once.

        Args:
            name: free.
            partitions: how many.
            replicas: of each; None = as many as there are brokers, at most 3.
            configs: settings of the topic, by Kafka's names.

        Raises:
            ValueError: the name is taken, or there are not so many brokers up.
        """
        with self._board.changing() as core:
            core.cluster.create_topic(name, partitions, replicas, configs)

    def add_partitions(self, name: str, total: int) -> None:
        """Make a topic wider.

        Args:
            name: of the topic.
            total: partitions it has then.

        Raises:
            ValueError: there is no such topic, or it has so many partitions already.
        """
        with self._board.changing() as core:
            core.cluster.add_partitions(name, total)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records; one of the same name made later is another topic.

        Raises:
            ValueError: there is no such topic.
        """
        with self._board.changing() as core:
            core.cluster.delete_topic(name)

    # -- waiting ---------------------------------------------------------------------------------

    async def until(self, is_so: Callable[[], object], *, timeout: float = 5.0) -> None:
        """Wait, in an async test, until something is so: a group's state, a client's.

        Args:
            is_so: a plain function, asked again and again; true ends the wait.
            timeout: seconds, on the event loop's clock.

        Raises:
            TimeoutError: it did not come in time; says what state the groups are in.
            TypeError: `is_so` is no plain function.
        """
        await until(self._board, is_so, timeout)

    def wait_until(self, is_so: Callable[[], object], *, timeout: float = 5.0) -> None:
        """Wait, in a test without an event loop, until something is so.

        For a cluster that is served; in memory nothing moves while a thread is blocked.

        Args:
            is_so: a plain function, asked again and again; true ends the wait.
            timeout: seconds.

        Raises:
            TimeoutError: it did not come in time; says what state the groups are in.
            TypeError: `is_so` is no plain function.
            RuntimeError: it would block an event loop, or nothing is served.
        """
        wait_until(self._board, is_so, timeout)

    # -- what happened, and what goes wrong ------------------------------------------------------

    @property
    def requests(self) -> list[Arrival]:
        """Every request that has arrived, in order; `clear()` forgets them."""
        return self._board.arrivals

    def requests_of(self, kind: type[Q]) -> list[Q]:
        """Return the requests of a class that have arrived, in order."""
        return [each.request for each in self.requests if isinstance(each.request, kind)]

    @property
    def answers(self) -> Answers:
        """What goes wrong with requests and their answers on the way."""
        return self._board.answers


class Served:
    """A cluster on sockets, for as long as a block lasts; `InProcessBroker.serve` makes it.

    Args:
        board: connections to the cluster.
    """

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._server = SocketServer(board)
        self._before: dict[int, tuple[str, int]] = {}

    def __enter__(self) -> Self:
        """Open the sockets.

        Raises:
            RuntimeError: the cluster is served already.
            OSError: a port could not be had.
        """
        nodes = self._board.core.cluster.nodes
        if any(node.host == LOOPBACK for node in nodes.values()):
            raise RuntimeError("the cluster is served on sockets already; leave that block first")
        addresses = self._server.start()
        with self._board.lock:
            self._before = {each: (node.host, node.port) for each, node in nodes.items()}
            self._name(addresses)
        return self

    def __exit__(self, *_: object) -> None:
        """Close the sockets; the cluster stays as it is, and can be reached in memory again."""
        self._server.close()
        with self._board.lock:
            self._name(self._before)

    def _name(self, addresses: Mapping[int, tuple[str, int]]) -> None:
        for node_id, (host, port) in addresses.items():
            node = self._board.core.cluster.nodes[node_id]
            node.host, node.port = host, port

    @property
    def bootstrap(self) -> str:
        """Addresses of all brokers, as clients take them: `127.0.0.1:40001,127.0.0.1:40002`."""
        nodes = self._board.core.cluster.nodes.values()
        return ",".join(f"{node.host}:{node.port}" for node in nodes)
