"""The processes of a running program, told apart by their command lines.

Decides: that a process belongs to a program when its environment holds the program's mark: each of
Spark's inherits it, whoever its parent is by now. It needs a `/proc`.
Never: ends a process without that mark.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.words import Word
from tests.spark.matrix.program import ROOT, Reading, environment

_VARIABLE: Final = "KGROUP_MATRIX"
_PROC: Final = Path("/proc")


class Kind(Word):
    """What a process of a program is."""

    PROGRAM = "program"
    DRIVER = "driver"
    READER = "reader"
    EXECUTOR = "executor"
    DAEMON = "daemon"
    WORKER = "worker"
    OTHER = "other"


_SIGNS: Final = {
    Kind.PROGRAM: "tests.spark.matrix.program",
    Kind.EXECUTOR: "CoarseGrainedExecutorBackend",
    Kind.DRIVER: "org.apache.spark.deploy.SparkSubmit",
    Kind.READER: "python_streaming_source_runner",
    Kind.DAEMON: "pyspark.daemon pyspark.worker",
}


@dataclass(frozen=True, slots=True)
class Process:
    """One process."""

    pid: int
    parent: int
    kind: Kind


def found(mark: str) -> list[Process]:
    """Return all processes with a mark that are alive."""
    sign = f"{_VARIABLE}={mark}".encode()
    lines: dict[int, tuple[int, str]] = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if sign in (entry / "environ").read_bytes().split(b"\0"):
                lines[int(entry.name)] = (_parent(entry), _command(entry))
        except OSError:
            continue  # it has ended meanwhile
    daemons = {pid for pid, (_, command) in lines.items() if _SIGNS[Kind.DAEMON] in command}
    return [
        Process(pid, parent, Kind.WORKER if {pid, parent} <= daemons else _kind(command))
        for pid, (parent, command) in sorted(lines.items())
    ]


def _kind(command: str) -> Kind:
    return next((kind for kind, sign in _SIGNS.items() if sign in command), Kind.OTHER)


def _command(entry: Path) -> str:
    return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _parent(entry: Path) -> int:
    # The name before it is in brackets, and may hold blanks.
    return int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])


class Program:
    """A child process that runs the query, and all processes of its Spark.

    Args:
        reading: what it reads.
        mark: of its processes; no other program has it.
    """

    def __init__(self, reading: Reading, mark: str) -> None:
        self.reading = reading
        self._mark = mark
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, master: str) -> None:
        """Start it, once more too."""
        folder = self.reading.folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stop").unlink(missing_ok=True)
        given = {**os.environ, **environment(), _VARIABLE: self._mark}
        if master.startswith("local-cluster"):
            given["SPARK_HOME"] = str(_home(folder / "home"))
        reading = self.reading
        words = [str(folder), reading.bootstrap, reading.topic, reading.group]
        words += [str(reading.session), master]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.matrix.program", *words],
                cwd=ROOT,
                env=given,
                stdin=subprocess.PIPE,  # by its end the program hears of the end of the tool
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C is for the tool, which ends it.
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code, None while it runs."""
        return None if self._process is None else self._process.poll()

    def of(self, kind: Kind) -> list[int]:
        """Return the ids of its processes of a kind."""
        return [each.pid for each in found(self._mark) if each.kind is kind]

    def parts(self) -> dict[str, list[int]]:
        """Return the ids of its processes by kind."""
        parts: dict[str, list[int]] = {}
        for each in found(self._mark):
            parts.setdefault(each.kind.value, []).append(each.pid)
        return parts

    def strike(self, pids: Collection[int]) -> list[int]:
        """End some of its processes at once; return those that were there."""
        struck: list[int] = []
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                struck.append(pid)
        return struck

    def gone(self, pids: Collection[int]) -> bool:
        """Tell whether none of some processes is alive."""
        _ = self.runs  # a child that has ended is waited for
        return not {each.pid for each in found(self._mark)}.intersection(pids)

    def ask_to_stop(self) -> None:
        """Have the query stop, as a user would."""
        (self.reading.folder / "stop").touch()

    def end(self) -> None:
        """End whatever is left of it."""
        while left := found(self._mark):
            self.strike([each.pid for each in left])
            _ = self.runs
            time.sleep(0.05)
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def told(self, words: str) -> bool:
        """Tell whether some words are in what it printed."""
        text = (self.reading.folder / "log").read_text(encoding="utf-8", errors="replace")
        return words in text

    def last_lines(self, count: int = 4) -> list[str]:
        """Return the end of what it printed: why the query ended, when it did."""
        text = (self.reading.folder / "log").read_text(encoding="utf-8", errors="replace")
        told = [line.strip() for line in text.splitlines() if line.strip()]
        named = [line for line in told if "Error" in line or "Exception" in line]
        return [line[:300] for line in (named or told)[-count:]]


def _home(folder: Path) -> Path:
    """Return a home of Spark in which executors leave their files, and not in the package."""
    import pyspark  # noqa: PLC0415 - an extra

    folder.mkdir(parents=True, exist_ok=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        link = folder / entry.name
        if entry.name != "work" and not link.exists():
            link.symlink_to(entry)
    return folder
