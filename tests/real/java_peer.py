"""A member of Java's client: the console consumer of the broker's own jars, in a process.

Decides: what is read from its output: a record's value, which names its place, and what its
coordinator logs of its assignment; and that it has begun once its consumer has subscribed: a
virtual machine takes a second to start, and on a busy machine longer than a round may take.
Never: helps it; what it does in a group is its own.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

import anyio
import pytest
from anyio.abc import TaskStatus

from kgroup.errors import UnsupportedError
from kgroup.testing.kafka.supply import find_program
from kgroup.types import TopicPartition
from tests.real.ground import Ground, eventually

_MAIN = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_VERSION = "4.3.1"
_HEAP_MB = 128
_STARTS = 120.0
"""Seconds until its consumer runs; no test judges how long that takes."""

_LAST_LINES = 40
_CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
_BEGUN = re.compile(r"Subscribed to topic\(s\): ")
_RECORD = re.compile(r"^(\S+)-(\d+)@(\d+?)(\d\d:\d\d:\d\d\.\d{3} .*)?$")
"""Its end of line is written apart, so what another thread logs may stand behind a record: that
begins with the time of day."""

_ASSIGNED = re.compile(
    r"(?:Adding newly assigned partitions:|Added partitions \(assigned - owned\):) +\[(.*)\]$"
)
_GONE = re.compile(
    r"(?:(?:Revoke|Lost) previously assigned partitions|Revoked partitions \(owned - assigned\):)"
    r" +\[(.*)\]$"
)


class JavaPeer:
    """A Java consumer in a process of its own; skips the test where there is no Java.

    Args:
        ground: what it reads.
        group: its group.
        assignors: names of Java's, in order of preference; none for the protocol of KIP-848,
            whose groups have a session and an interval of their own.
    """

    def __init__(self, ground: Ground, group: str, *assignors: str) -> None:
        self.owned: frozenset[TopicPartition] = frozenset()
        self.seen: list[tuple[TopicPartition, int]] = []
        self.said: list[str] = []
        settings = {**_protocol(assignors), "fetch.max.wait.ms": "100", "client.id": "java"}
        words = ["--bootstrap-server", ground.kafka.bootstrap, "--topic", ground.topic]
        words += ["--group", group, "--from-beginning"]
        for name, value in settings.items():
            words += ["--consumer-property", f"{name}={value}"]
        self._command = _java(*words)
        self._process: subprocess.Popen[str] | None = None
        self._begun = False

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Read until stopped; it has started when its consumer is about to join."""
        start = partial(subprocess.Popen[str], text=True, stderr=subprocess.STDOUT)
        with start(self._command, stdout=subprocess.PIPE) as process:
            self._process = process
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._read, process)
                    await eventually(self._is_up, "Java's consumer runs", timeout=_STARTS)
                    task_status.started()
            except BaseException:
                sys.stderr.write("\n".join(["Java:", *self.said[-_LAST_LINES:], ""]))
                raise
            finally:
                self.owned = frozenset()
                if process.poll() is None:
                    process.kill()

    def stop(self) -> None:
        """Have it leave; `run` returns when it has."""
        assert self._process is not None
        self._process.terminate()

    def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "Java's consumer has ended before it joined"
        return self._begun

    async def _read(self, process: subprocess.Popen[str]) -> None:
        await anyio.to_thread.run_sync(self._listen, process, abandon_on_cancel=True)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._hear(line.rstrip("\n"))
        process.wait()

    def _hear(self, line: str) -> None:
        if found := _RECORD.match(line):
            self.seen.append((TopicPartition(found[1], int(found[2])), int(found[3])))
            line = found[4] or ""
        if not line:
            return
        self.said.append(line)
        if found := _GONE.search(line):
            self.owned -= _partitions(found[1])
        elif found := _ASSIGNED.search(line):
            self.owned |= _partitions(found[1])
        elif _BEGUN.search(line):
            self._begun = True


def _protocol(assignors: Sequence[str]) -> dict[str, str]:
    if not assignors:
        return {"group.protocol": "consumer"}
    classes = (f"org.apache.kafka.clients.consumer.{_CLASSES[each]}" for each in assignors)
    return {
        "partition.assignment.strategy": ",".join(classes),
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "300",
    }


def _java(*words: str) -> list[str]:
    try:
        return find_program(_VERSION).words(_MAIN, _HEAP_MB, *words)
    except UnsupportedError as error:
        pytest.skip(str(error))


def _partitions(listed: str) -> frozenset[TopicPartition]:
    names = (name.rpartition("-") for name in listed.split(", ") if name)
    return frozenset(TopicPartition(topic, int(number)) for topic, _, number in names)
