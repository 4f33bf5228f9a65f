"""What a local cluster looks like, and each node's `server.properties`.

Decides: roles, node ids, ports, and the settings that make a broker quick to test against.
Never: listens on anything but the loopback address.
Sources: KIP-500 (KRaft), KIP-848 (group.consumer.*), KIP-932 (share.coordinator.*).
"""

import secrets
import socket
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import PurePath

from kgroup.errors import ConfigError
from kgroup.testing.kafka.secured import LISTENERS, Certificates, secure_properties
from kgroup.values import dataclass

LOOPBACK = "127.0.0.1"
BROKER_COUNTS = (1, 3)

# Node ids: brokers count from 1; the controller of a larger cluster is a node of its own.
_CONTROLLER_ID = 100

# Below the range from which the system takes the ports of outgoing connections: a client that
# dials a stopped broker could otherwise be given that very port and keep the broker from it.
_PORTS = range(20_000, 32_000)

# The same for every cluster. Times are short so that a test sees sessions end and brokers fenced.
_COMMON = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "controlled.shutdown.retry.backoff.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.index.size.max.bytes": "1048576",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "unclean.leader.election.enable": "false",
}


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One process of a cluster.

    Args:
        node_id: its number in the cluster.
        client_port: where clients connect, None for a controller that is no broker.
        internal_port: where the other brokers connect, None for a controller that is no broker.
        controller_port: where the quorum connects, None for a broker that is no controller.
        heap_mb: largest Java heap, megabytes.
        secure_ports: secured listener -> where clients connect; empty when nothing is secured.
    """

    node_id: int
    client_port: int | None
    internal_port: int | None
    controller_port: int | None
    heap_mb: int
    secure_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_broker(self) -> bool:
        """Whether clients can talk to it."""
        return self.client_port is not None


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """All processes of a cluster.

    Args:
        version: of Kafka.
        cluster_id: 22 characters, never with a `-` in front.
        nodes: a single broker that is its own controller, or a controller and its brokers.
        settings: broker settings that win over kgroup's.
    """

    version: str
    cluster_id: str
    nodes: tuple[NodePlan, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def brokers(self) -> tuple[NodePlan, ...]:
        """The nodes that clients can talk to."""
        return tuple(node for node in self.nodes if node.is_broker)

    @property
    def controller(self) -> NodePlan:
        """The node that keeps the metadata."""
        return next(node for node in self.nodes if node.controller_port is not None)

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, separated by commas."""
        return ",".join(f"{LOOPBACK}:{node.client_port}" for node in self.brokers)

    @property
    def is_secure(self) -> bool:
        """Whether it has secured listeners beside the open one."""
        return bool(self.brokers[0].secure_ports)

    def addresses(self) -> dict[str, str]:
        """Return listener -> `host:port` of every broker, separated by commas."""
        found = {"PLAINTEXT": self.bootstrap}
        for name in self.brokers[0].secure_ports:
            ports = (node.secure_ports[name] for node in self.brokers)
            found[name] = ",".join(f"{LOOPBACK}:{port}" for port in ports)
        return found


def plan_cluster(
    version: str,
    brokers: int,
    *,
    settings: Mapping[str, str] | None = None,
    secure: bool = False,
    port: int | None = None,
) -> ClusterPlan:
    """Lay out a cluster on free ports.

    Args:
        version: of Kafka.
        brokers: 1 (broker and controller in one process) or 3 (and a controller of their own, so
            that the death of a broker does not disturb the quorum).
        settings: broker settings that win over kgroup's.
        secure: whether there are listeners with TLS and SASL beside the open one.
        port: of the first broker's clients if it is free; None for any.

    Raises:
        ConfigError: another number of brokers.
    """
    if brokers not in BROKER_COUNTS:
        raise ConfigError("brokers", brokers, "1 or 3")
    ports = free_ports()
    first = port if port is not None and _is_free(port) else next(ports)
    if brokers == 1:
        nodes = [NodePlan(1, first, next(ports), next(ports), heap_mb=384)]
    else:
        nodes = [NodePlan(_CONTROLLER_ID, None, None, next(ports), heap_mb=256)]
        for node_id in range(1, brokers + 1):
            client_port = first if node_id == 1 else next(ports)
            nodes.append(NodePlan(node_id, client_port, next(ports), None, heap_mb=384))
    if secure:
        nodes = [_secured(node, ports) if node.is_broker else node for node in nodes]
    return ClusterPlan(version, new_cluster_id(), tuple(nodes), dict(settings or {}))


def _secured(node: NodePlan, ports: Iterator[int]) -> NodePlan:
    return replace(node, secure_ports={name: next(ports) for name in LISTENERS})


def new_cluster_id() -> str:
    """Make a cluster id: 16 random bytes in URL-safe base64.

    The format tool reads an id that begins with `-` as an option, so there is never one.
    """
    while (made := secrets.token_urlsafe(16)).startswith("-"):
        pass
    return made


def free_ports() -> Iterator[int]:
    """Yield different ports of the loopback address that nothing listens on at this moment."""
    # In random order, so that clusters that start at the same moment do not compete.
    for port in secrets.SystemRandom().sample(_PORTS, len(_PORTS)):
        if _is_free(port):
            yield port


def certificates_of(data: PurePath) -> Certificates:
    """Return where the certificates of a node's cluster are.

    Args:
        data: folder of the node's log, `<cluster>/<node>/data`.
    """
    return Certificates(data.parent.parent / "certificates")


_REPLICA_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def server_properties(plan: ClusterPlan, node: NodePlan, data: PurePath) -> str:
    """Render the `server.properties` of one node.

    Args:
        plan: the cluster.
        node: one of its nodes.
        data: folder of its log; it is formatted and filled by Kafka.
    """
    brokers = len(plan.brokers)
    controller = plan.controller
    lines = {
        **_COMMON,
        **_replication(brokers),
        "process.roles": ",".join(_roles(node)),
        "node.id": str(node.node_id),
        "controller.quorum.voters": f"{controller.node_id}@{LOOPBACK}:{controller.controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": ",".join(_protocols(plan)),
        "listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}" for name, port in _listeners(node) if port is not None
        ),
        "log.dirs": str(data),
    }
    if node.is_broker:
        lines["advertised.listeners"] = ",".join(
            f"{name}://{LOOPBACK}:{port}" for name, port in _listeners(node) if name != "CONTROLLER"
        )
        lines["inter.broker.listener.name"] = "INTERNAL"
    if node.is_broker and brokers > 1:
        # Each broker is in a rack, and leaders name replicas close by (KIP-392).
        lines["broker.rack"] = f"rack-{node.node_id}"
        lines["replica.selector.class"] = _REPLICA_SELECTOR
    if plan.is_secure:
        lines |= secure_properties(certificates_of(data))
    lines |= plan.settings
    return "".join(f"{key}={value}\n" for key, value in sorted(lines.items()))


def _listeners(node: NodePlan) -> tuple[tuple[str, int | None], ...]:
    return (
        ("CLIENT", node.client_port),
        ("INTERNAL", node.internal_port),
        ("CONTROLLER", node.controller_port),
        *node.secure_ports.items(),
    )


def _protocols(plan: ClusterPlan) -> Iterator[str]:
    for name in ("CLIENT", "INTERNAL", "CONTROLLER"):
        yield f"{name}:PLAINTEXT"
    if plan.is_secure:
        for name, protocol in LISTENERS.items():
            yield f"{name}:{protocol}"


def _roles(node: NodePlan) -> Iterator[str]:
    if node.is_broker:
        yield "broker"
    if node.controller_port is not None:
        yield "controller"


def _replication(brokers: int) -> dict[str, str]:
    """With three brokers one may die and everything stays writable; with one there is no choice."""
    copies = str(brokers)
    in_sync = "2" if brokers > 1 else "1"
    return {
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.replication.factor": copies,
    }


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Kafka binds: connections of a Kafka that has just ended do not keep the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
