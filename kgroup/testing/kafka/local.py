"""A Kafka cluster of processes of this machine.

Decides: the order in which nodes are started, ended and brought back, and that a port taken by
somebody else in the meantime only means another attempt.
Never: outlives its owner, except when it is released on purpose.
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from kgroup.errors import ConfigError
from kgroup.testing.kafka.config import LOOPBACK, ClusterPlan, plan_cluster
from kgroup.testing.kafka.guardian import Guardian
from kgroup.testing.kafka.jars import Progress, silent
from kgroup.testing.kafka.node import KafkaStartError, Node, Program
from kgroup.testing.kafka.ready import Address, wait_ready
from kgroup.testing.kafka.secured import (
    USERS,
    Acl,
    AclResource,
    Certificates,
    SecureAccess,
    add_acls,
    make_certificates,
)

FOLDER_PREFIX = "kgroup-kafka-"

_ATTEMPTS = 3
_START_TIMEOUT = 90.0
_PORT_TAKEN = "Address already in use"


class LocalKafka:
    """A running cluster.

    Args:
        plan: what it consists of.
        folder: its folder, an existing one; removed with the cluster.
        program: what runs the nodes.
    """

    kind = "local process"

    def __init__(self, plan: ClusterPlan, folder: Path, program: Program) -> None:
        self.plan = plan
        self.folder = folder
        self.program = program
        self._guardian = Guardian(folder)
        self._nodes = {
            node.node_id: Node(plan, node, folder / f"node-{node.node_id}", program)
            for node in plan.nodes
        }

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, separated by commas."""
        return self.plan.bootstrap

    @property
    def version(self) -> str:
        """Of Kafka."""
        return self.plan.version

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of the brokers; the controller of a larger cluster is not among them."""
        return tuple(node.node_id for node in self.plan.brokers)

    @property
    def pids(self) -> dict[int, int]:
        """Node id -> process id of every running node, the controller too."""
        return {key: node.pid for key, node in self._nodes.items() if node.pid is not None}

    def describe(self) -> str:
        """Say in words what it is."""
        count = len(self.plan.brokers)
        size = "one node" if count == 1 else f"{count} brokers and a controller"
        java = self.program.java
        return f"Kafka {self.version}, {size}, local with {java}, {self.bootstrap}"

    @property
    def access(self) -> SecureAccess | None:
        """How to use its secured listeners, None without any."""
        if not self.plan.is_secure:
            return None
        return SecureAccess(self.plan.addresses(), Certificates(self.folder / "certificates"))

    def start(self, timeout: float = _START_TIMEOUT) -> None:
        """Start all nodes and return when they serve groups.

        Raises:
            KafkaStartError: a node ended by itself.
            TimeoutError: it takes too long.
        """
        self._guardian.start()
        with ExitStack() as undo:
            undo.callback(self.close)
            if self.plan.is_secure:
                make_certificates(self.folder / "certificates")
            self._format()
            for node in self._nodes.values():
                self._launch(node)
            self._wait_ready(timeout)
            if self.plan.is_secure:
                _allow_everything(self.plan.bootstrap)
            undo.pop_all()

    def kill(self, node_id: int) -> None:
        """End a node at once (SIGKILL)."""
        self._node(node_id).kill()

    def stop(self, node_id: int) -> None:
        """End a node politely (SIGTERM): it hands over its leaderships first."""
        self._node(node_id).stop()

    def restart(self, node_id: int, timeout: float = _START_TIMEOUT) -> None:
        """Start a node that was ended, on its old ports and data; return when it is back."""
        self._launch(self._node(node_id))
        self._wait_ready(timeout)

    def heal(self, timeout: float = _START_TIMEOUT) -> None:
        """Start every node that does not run; return when the cluster is whole."""
        missing = [node for node in self._nodes.values() if not node.alive]
        for node in missing:
            self._launch(node)
        if missing:
            self._wait_ready(timeout)

    def close(self) -> None:
        """End all nodes and remove their data; idempotent."""
        for node in self._nodes.values():
            # The data is thrown away, so there is nothing to hand over.
            node.kill()
        self._guardian.finish()

    def release(self) -> None:
        """Let it live on when its owner ends."""
        self._guardian.release()

    def log_file(self, node_id: int) -> Path:
        """Return where everything a node prints is found."""
        return self._node(node_id).log_file

    def _format(self) -> None:
        with ExitStack() as tools:
            formatting = []
            for node in self._nodes.values():
                process = tools.enter_context(node.prepare())
                # After an interrupt it would write into a folder that is being removed.
                tools.callback(process.kill)
                self._guardian.watch(process.pid)
                formatting.append((node, process))
            for node, process in formatting:
                if process.wait(_START_TIMEOUT) != 0:
                    name = f"node {node.plan.node_id} of Kafka {self.version}"
                    raise KafkaStartError(f"{name} cannot be formatted", node.log_tail())

    def _launch(self, node: Node) -> None:
        node.start()
        if node.pid is not None:
            self._guardian.watch(node.pid)

    def _wait_ready(self, timeout: float) -> None:
        running = [node for node in self._nodes.values() if node.pid is not None]
        addresses: list[Address] = [
            (LOOPBACK, node.plan.client_port)
            for node in running
            if node.plan.client_port is not None
        ]
        wait_ready(
            addresses,
            brokers=len(addresses),
            timeout=timeout,
            check=partial(_check_alive, running),
        )

    def _node(self, node_id: int) -> Node:
        if node_id not in self._nodes:
            known = ", ".join(map(str, self._nodes))
            raise ConfigError("node_id", node_id, f"one of {known}")
        return self._nodes[node_id]


def _allow_everything(bootstrap: str) -> None:
    """Let the first user do whatever a client can do, until a test denies it."""
    user = next(iter(USERS))
    names = {AclResource.TOPIC: "*", AclResource.GROUP: "*", AclResource.CLUSTER: "kafka-cluster"}
    add_acls(bootstrap, *(Acl(user, resource, name) for resource, name in names.items()))


def _check_alive(nodes: Sequence[Node]) -> None:
    for node in nodes:
        node.check_alive()


def start_local(
    program: Program,
    version: str,
    brokers: int,
    *,
    settings: Mapping[str, str] | None = None,
    secure: bool = False,
    port: int | None = None,
    progress: Progress = silent,
) -> LocalKafka:
    """Start a cluster on free ports.

    Args:
        program: what runs it.
        version: of Kafka; the program's jars are of it.
        brokers: 1 or 3.
        settings: broker settings that win over kgroup's.
        secure: whether there are listeners with TLS and SASL beside the open one.
        port: of the first broker's clients if it is free; None for any.
        progress: called with a line of text at each step.

    Raises:
        KafkaStartError: it does not come up.
        TimeoutError: it takes too long.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        plan = plan_cluster(version, brokers, settings=settings, secure=secure, port=port)
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        cluster = LocalKafka(plan, folder, program)
        progress(f"Kafka {version}: starting {len(plan.nodes)} process(es) on {plan.bootstrap}")
        try:
            cluster.start()
        except KafkaStartError as error:
            taken = any(_PORT_TAKEN in line for line in error.log)
            if not taken or attempt == _ATTEMPTS:
                raise
            progress(f"Kafka {version}: a port was taken meanwhile, trying others")
        else:
            return cluster
    raise AssertionError("the last attempt returns or raises")
