"""One Kafka process of this machine.

Decides: how it is formatted, started, and ended politely or at once.
Never: waits until it is ready; that is a question to the whole cluster (`ready`).
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kgroup.errors import KGroupError
from kgroup.testing.kafka.config import ClusterPlan, NodePlan, server_properties
from kgroup.testing.kafka.jars import Java
from kgroup.testing.kafka.secured import scram_users
from kgroup.values import dataclass

# Everything to standard output, which is the node's log file; the format tool needs it too.
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
)


# The first compiler only: a cluster of four is up in 5 s instead of 9 s on two cores. A run that
# measures the broker's own speed leaves this out.
QUICK_JVM = ("-XX:TieredStopAtLevel=1",)


class KafkaStartError(KGroupError):
    """A broker of this machine did not come up.

    Args:
        reason: what happened.
        log: the last lines the process printed.
    """

    def __init__(self, reason: str, log: Sequence[str] = ()) -> None:
        tail = "".join(f"\n    {line}" for line in log)
        super().__init__(reason + tail)
        self.reason = reason
        self.log: tuple[str, ...] = tuple(log)


@dataclass(frozen=True, slots=True)
class Program:
    """What runs the nodes.

    Args:
        java: the Java.
        jars: folder with the jars of one version of Kafka.
        jvm: further options of the Java machine.
    """

    java: Java
    jars: Path
    jvm: tuple[str, ...] = QUICK_JVM

    def words(self, main_class: str, heap_mb: int, *arguments: str) -> list[str]:
        """Return the command that runs one of Kafka's main classes."""
        memory = (f"-Xmx{heap_mb}m", "-Xms64m", "-XX:+UseSerialGC", "-Xshare:auto")
        classes = ("-cp", f"{self.jars}{os.sep}*")
        options = (*memory, *self.jvm, *_LOGGING, *classes)
        return [self.java.command, *options, main_class, *arguments]


class Node:
    """A node with its own folder: configuration, data and log file.

    Args:
        cluster: the plan it is a part of.
        plan: its own part of that plan.
        folder: its folder, made by `prepare`.
        program: what runs it.
    """

    def __init__(
        self, cluster: ClusterPlan, plan: NodePlan, folder: Path, program: Program
    ) -> None:
        self.cluster = cluster
        self.plan = plan
        self.folder = folder
        self.program = program
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log_file(self) -> Path:
        """Where everything the process prints is found."""
        return self.folder / "server.log"

    @property
    def pid(self) -> int | None:
        """Id of the running process, None when there is none."""
        return self._process.pid if self._process and self.alive else None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def prepare(self) -> subprocess.Popen[bytes]:
        """Write the configuration and begin to format the data folder; the caller waits."""
        self.folder.mkdir(parents=True)
        text = server_properties(self.cluster, self.plan, self.folder / "data")
        self._properties.write_text(text, encoding="utf-8")
        options = ["--cluster-id", self.cluster.cluster_id, "--config", str(self._properties)]
        if self.cluster.is_secure:
            options += scram_users()
        return self._run("kafka.tools.StorageTool", 128, "format", *options)

    def start(self) -> None:
        """Start the process; it is not ready yet when this returns."""
        if not self.alive:
            self._process = self._run("kafka.Kafka", self.plan.heap_mb, str(self._properties))

    def stop(self, timeout: float = 15.0) -> None:
        """End it politely (SIGTERM: it hands over its leaderships), at once after `timeout`."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a machine without power would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines: int = 12) -> list[str]:
        """Return the last lines of its log, errors first when there are any."""
        if not self.log_file.is_file():
            return []
        text = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        grave = [line for line in text if " ERROR " in line or " FATAL " in line]
        return (grave or text)[-lines:]

    def check_alive(self) -> None:
        """Say so when the process ended by itself.

        Raises:
            KafkaStartError: it ended; with the last lines of its log.
        """
        if self._process is not None and not self.alive:
            code = self._process.returncode
            name = f"node {self.plan.node_id} of Kafka {self.cluster.version}"
            raise KafkaStartError(f"{name} ended with code {code}", self.log_tail())

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def _run(self, main_class: str, heap_mb: int, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log_file.open("ab") as log:
            return subprocess.Popen(
                self.program.words(main_class, heap_mb, *arguments),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C at the terminal is for the program that owns the broker.
                start_new_session=True,
            )
