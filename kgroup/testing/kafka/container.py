"""A real Kafka in a container, by testcontainers (extra `docker`).

Decides: whether a container engine answers, and how a broker is started in it.
Never: is asked when a broker can run as a process of this machine.
"""

import importlib
import importlib.util
import os
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Protocol

from kgroup.errors import ConfigError, MissingExtraError, UnsupportedError
from kgroup.testing.kafka.config import (
    LOOPBACK,
    ClusterPlan,
    plan_cluster,
    server_properties,
)
from kgroup.testing.kafka.jars import Progress, silent
from kgroup.testing.kafka.ready import wait_ready
from kgroup.testing.kafka.secured import SecureAccess

_START_TIMEOUT = 120.0
_DEFAULT_ENGINE = "unix:///var/run/docker.sock"

# Inside the container.
_BIN = "/opt/kafka/bin"
_DATA = PurePosixPath("/tmp/kgroup-data")
_PROPERTIES = "/tmp/kgroup.properties"


class Wrapped(Protocol):
    """What is used of the engine's own container."""

    status: str

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def reload(self) -> None: ...


class Container(Protocol):
    """What is used of testcontainers' container."""

    def start(self) -> object: ...
    def stop(self) -> None: ...
    def get_wrapped_container(self) -> Wrapped: ...


class ContainerKafka:
    """A broker in a container of its own.

    Args:
        plan: its plan; the client's port is the same inside and outside.
        container: testcontainers' container, not started yet.
    """

    kind = "container"

    def __init__(self, plan: ClusterPlan, container: Container) -> None:
        self.plan = plan
        self._container = container
        self._runs = False

    @property
    def bootstrap(self) -> str:
        """`host:port` of the broker."""
        return self.plan.bootstrap

    @property
    def version(self) -> str:
        """Of Kafka."""
        return self.plan.version

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of the brokers."""
        return tuple(node.node_id for node in self.plan.brokers)

    @property
    def access(self) -> SecureAccess | None:
        """Nothing: what is secured here is not known."""
        return None

    def describe(self) -> str:
        """Say in words what it is."""
        return f"Kafka {self.version}, one node, in a container, {self.bootstrap}"

    def start(self) -> None:
        """Start the container and return when the broker serves groups."""
        self._container.start()
        self._runs = True
        self._wait_ready()

    def kill(self, node_id: int) -> None:
        """End the broker at once (SIGKILL)."""
        self._wrapped(node_id).kill()
        self._runs = False

    def stop(self, node_id: int) -> None:
        """End the broker politely (SIGTERM)."""
        self._wrapped(node_id).stop()
        self._runs = False

    def restart(self, node_id: int) -> None:
        """Start the broker that was ended; return when it is back."""
        self._wrapped(node_id).start()
        self._runs = True
        self._wait_ready()

    def heal(self) -> None:
        """Start the broker if it does not run."""
        if not self._runs:
            self.restart(self.nodes[0])

    def close(self) -> None:
        """Remove the container."""
        self._container.stop()

    def _wait_ready(self) -> None:
        addresses = [(LOOPBACK, port) for node in self.plan.brokers if (port := node.client_port)]
        wait_ready(addresses, brokers=1, timeout=_START_TIMEOUT, check=self._check)

    def _check(self) -> None:
        wrapped = self._container.get_wrapped_container()
        wrapped.reload()
        if wrapped.status in {"exited", "dead"}:
            raise UnsupportedError(f"the container of Kafka {self.version} is {wrapped.status}")

    def _wrapped(self, node_id: int) -> Wrapped:
        if node_id not in self.nodes:
            raise ConfigError("node_id", node_id, f"one of {self.nodes}")
        return self._container.get_wrapped_container()


def engine_runs(environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether testcontainers is installed and its container engine answers.

    Args:
        environ: where DOCKER_HOST is read.
    """
    if not (importlib.util.find_spec("testcontainers") and importlib.util.find_spec("docker")):
        return False
    host = environ.get("DOCKER_HOST", _DEFAULT_ENGINE)
    # The client leaks its socket when no engine listens, so it is asked only when one does.
    if host.startswith("unix://") and not _listens(host.removeprefix("unix://")):
        return False
    docker = importlib.import_module("docker")
    try:
        client = docker.from_env(timeout=5)
    except docker.errors.DockerException:
        return False
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False
    finally:
        client.close()


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def start_container(
    version: str,
    brokers: int = 1,
    *,
    settings: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> ContainerKafka:
    """Start a broker in a container.

    Args:
        version: of Kafka; the tag of the image `apache/kafka`.
        brokers: only 1; a cluster needs Java on this machine.
        settings: broker settings that win over kgroup's.
        progress: called with a line of text at each step.

    Raises:
        UnsupportedError: more than one broker.
        MissingExtraError: testcontainers is not installed.
    """
    if brokers != 1:
        raise UnsupportedError(f"{brokers} brokers need Java on this machine, not a container")
    if importlib.util.find_spec("testcontainers") is None:
        raise MissingExtraError("Kafka in a container", "docker")
    core = importlib.import_module("testcontainers.core.container")
    plan = _published(plan_cluster(version, 1, settings=settings))
    port = plan.brokers[0].client_port
    container = core.DockerContainer(f"apache/kafka:{version}")
    # Not `with_bind_ports`: it publishes on every address of this machine.
    container.ports[str(port)] = (LOOPBACK, port)
    container.with_command(["bash", "-c", container_script(plan)])
    progress(f"Kafka {version}: starting a container on {plan.bootstrap}")
    kafka = ContainerKafka(plan, container)
    try:
        kafka.start()
    except BaseException:
        kafka.close()
        raise
    return kafka


def container_script(plan: ClusterPlan) -> str:
    """Return what the container runs: write the configuration, format once, start.

    Args:
        plan: of one node.
    """
    (node,) = plan.nodes
    properties = server_properties(plan, node, _DATA)
    return (
        f"cat > {_PROPERTIES} <<'END'\n{properties}END\n"
        f"{_BIN}/kafka-storage.sh format --ignore-formatted --cluster-id {plan.cluster_id} "
        f"--config {_PROPERTIES} && exec {_BIN}/kafka-server-start.sh {_PROPERTIES}"
    )


def _published(plan: ClusterPlan) -> ClusterPlan:
    """Let clients in from outside the container, whose loopback address is not this machine's."""
    (node,) = plan.nodes
    listeners = (
        f"CLIENT://0.0.0.0:{node.client_port}",
        f"INTERNAL://{LOOPBACK}:{node.internal_port}",
        f"CONTROLLER://{LOOPBACK}:{node.controller_port}",
    )
    return replace(plan, settings={**plan.settings, "listeners": ",".join(listeners)})
