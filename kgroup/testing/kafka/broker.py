"""A Kafka for one's own experiments, kept running between commands: `kgroup broker`.

Decides: that there is one per cache folder, and what is remembered of it there.
Never: ends a process whose command line does not hold the folder it was started with, or removes
a folder that kgroup did not make.
"""

import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path

from kgroup.errors import IllegalStateError
from kgroup.testing.kafka.guardian import end_process, is_running
from kgroup.testing.kafka.jars import (
    DEFAULT_VERSION,
    Progress,
    cache_folder,
    check_version,
    locked,
    silent,
)
from kgroup.testing.kafka.local import FOLDER_PREFIX, LocalKafka, start_local
from kgroup.testing.kafka.secured import Certificates, SecureAccess
from kgroup.testing.kafka.supply import find_program
from kgroup.values import dataclass

_PORT = 9092
"""Where clients look for a Kafka by default."""

_POLITE = 15.0


@dataclass(frozen=True, slots=True)
class BrokerProcess:
    """One process of the cluster.

    Args:
        node_id: its number in the cluster.
        pid: its process id.
        log: its log file.
    """

    node_id: int
    pid: int
    log: str


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What is remembered of the running cluster.

    Args:
        version: of Kafka.
        brokers: how many.
        bootstrap: `host:port` of each, separated by commas.
        folder: where its data is; every process has it in its command line.
        processes: brokers, and the controller of a larger cluster.
        listeners: secured listener -> `host:port` of each broker; empty when nothing is secured.
    """

    version: str
    brokers: int
    bootstrap: str
    folder: str
    processes: tuple[BrokerProcess, ...]
    listeners: Mapping[str, str] = field(default_factory=dict)

    @property
    def access(self) -> SecureAccess | None:
        """How to use its secured listeners, None without any."""
        if not self.listeners:
            return None
        return SecureAccess(self.listeners, Certificates(Path(self.folder) / "certificates"))

    @property
    def running(self) -> tuple[BrokerProcess, ...]:
        """The processes that are there at this moment."""
        return tuple(one for one in self.processes if is_running(one.pid, self.folder))


def up(
    version: str = DEFAULT_VERSION,
    brokers: int = 1,
    *,
    secure: bool = False,
    environ: Mapping[str, str] = os.environ,
    progress: Progress = silent,
) -> BrokerState:
    """Start a cluster that lives on, or return the one that is there.

    Args:
        version: of Kafka.
        brokers: 1 or 3.
        secure: whether there are listeners with TLS and SASL beside the open one.
        environ: where JAVA_HOME, PATH and the cache folder are read.
        progress: called with a line of text at each step.

    Raises:
        IllegalStateError: another one is running.
        UnsupportedError: no broker can run as a process of this machine.
        MissingExtraError: a secured one needs trustme.
    """
    check_version(version)
    cache = cache_folder(environ)
    with locked(cache / "broker.lock"):
        present = _read(cache)
        if present is not None and len(present.running) == len(present.processes):
            wanted = (version, brokers, secure)
            if (present.version, present.brokers, bool(present.listeners)) == wanted:
                return present
            kind = "secured" if present.listeners else "open"
            raise IllegalStateError(
                f"Kafka {present.version} with {present.brokers} {kind} broker(s) is running on "
                f"{present.bootstrap}; end it first: kgroup broker down"
            )
        if present is not None:
            _end(present)
        program = find_program(version, environ=environ, progress=progress)
        cluster = start_local(
            program, version, brokers, secure=secure, port=_PORT, progress=progress
        )
        return _remember(cache, cluster)


def status(environ: Mapping[str, str] = os.environ) -> BrokerState | None:
    """Return what is remembered, None without a cluster; `running` says what is left of it."""
    return _read(cache_folder(environ))


def down(environ: Mapping[str, str] = os.environ) -> BrokerState | None:
    """End the cluster, remove its data, and return what it was; None when there was none."""
    cache = cache_folder(environ)
    with locked(cache / "broker.lock"):
        present = _read(cache)
        if present is not None:
            _end(present)
            _file(cache).unlink()
        return present


def _remember(cache: Path, cluster: LocalKafka) -> BrokerState:
    processes = tuple(
        BrokerProcess(node_id, pid, str(cluster.log_file(node_id)))
        for node_id, pid in cluster.pids.items()
    )
    listeners = {} if cluster.access is None else dict(cluster.access.addresses)
    brokers = len(cluster.nodes)
    folder = str(cluster.folder)
    state = BrokerState(cluster.version, brokers, cluster.bootstrap, folder, processes, listeners)
    _write(cache, state)
    # Only now: until the state is written, no other process could end it.
    cluster.release()
    return state


def _end(state: BrokerState) -> None:
    for one in state.running:
        end_process(one.pid, state.folder)
    deadline = time.monotonic() + _POLITE
    while state.running and time.monotonic() < deadline:
        time.sleep(0.05)
    for one in state.running:
        end_process(one.pid, state.folder, hard=True)
    folder = Path(state.folder)
    if folder.name.startswith(FOLDER_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)


def _file(cache: Path) -> Path:
    return cache / "broker.json"


def _write(cache: Path, state: BrokerState) -> None:
    scratch = cache / "broker.json.new"
    scratch.write_text(json.dumps(asdict(state), indent=2) + "\n", encoding="utf-8")
    scratch.replace(_file(cache))


def _read(cache: Path) -> BrokerState | None:
    try:
        known = json.loads(_file(cache).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    processes = tuple(BrokerProcess(**one) for one in known.pop("processes"))
    return BrokerState(**known, processes=processes)
