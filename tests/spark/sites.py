"""Spark in processes of its own: where it lives, what runs there, and that nothing is left of it.

Decides: that everything Spark writes lies in one folder; that all its processes are children of
sessions that were begun here, so that each is known by its id, and has ended with its test.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.spark.ground import wait

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")

STARTS = 180.0
RUNS = 480.0
"""Seconds for a program to start or to run; no test judges how long that takes."""

_SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.master.rest.enabled": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# They live for seconds: what the second compiler would find out is of no use to them.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Djava.io.tmpdir="
_LEAVES = ("artifacts", "derby.log", "logs", "metastore_db", "spark-warehouse", "work")
_LAST = 4000
"""Characters of the beginning and of the end of a log that a failure shows."""


def _cut(text: str) -> str:
    return f"{text[:_LAST]}\n...\n{text[-_LAST:]}"


def living(sessions: set[int]) -> dict[int, str]:
    """Return process id -> name of what lives in some sessions."""
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, rest = (process / "stat").read_text().rpartition(")")
            state, _, _, session, *_ = rest.split()
            if int(session) in sessions and state not in "ZX":
                found[int(process.name)] = name
    return found


def folders() -> set[Path]:
    """Return what Spark left where it does by default: beside itself, and where a program began."""
    places = (place / name for place in (_spark(), ROOT) for name in _LEAVES)
    return {each for each in places if each.exists()}


def _spark() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@dataclass
class Site:
    """A folder in which Spark lives.

    Args:
        folder: for all that it writes.
        packages: a folder of packages for its processes, None for those of the environment.
        started: its processes.
    """

    folder: Path
    packages: Path | None = None
    started: list["Running"] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Spark's own folder: clusters write into it."""
        return self.folder / "home"

    @property
    def data(self) -> Path:
        """Where programs write."""
        return self.folder / "data"

    def furnish(self) -> None:
        """Lay out the folder; what is in Spark's own is only linked to."""
        for each in (self.home / "conf", self.data, self.folder / "tmp"):
            each.mkdir(parents=True)
        for each in _spark().iterdir():
            if each.name in ("bin", "jars", "python"):
                (self.home / each.name).symlink_to(each)
        settings = {**_SETTINGS, "spark.sql.warehouse.dir": f"file:{self.folder}/warehouse"}
        lines = (f"{name} {value}\n" for name, value in settings.items())
        (self.home / "conf" / "spark-defaults.conf").write_text("".join(lines))
        shutil.copy(PROGRAM, self.data)

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        outside = os.environ.items()
        kept = {name: value for name, value in outside if not name.startswith(("SPARK", "PYSPARK"))}
        packages = [str(self.packages)] if self.packages else []
        return {
            **kept,
            "JDK_JAVA_OPTIONS": f"{_JAVA}{self.folder / 'tmp'}",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([*packages, *filter(None, [kept.get("PYTHONPATH")])]),
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOG_DIR": str(self.folder / "logs"),
            "TMPDIR": str(self.folder / "tmp"),
            **extra,
        }

    def start(self, *command: str, extra: Mapping[str, str] = MappingProxyType({})) -> "Running":
        """Start a program.

        Args:
            command: its name, in Spark's `bin` if it has no path, and its arguments.
            extra: variables besides those of every process.
        """
        name = f"{len(self.started)}-{Path(command[0]).name}"
        out, log = (self.folder / f"{name}.{end}" for end in ("out", "log"))
        with out.open("wb") as printed, log.open("wb") as logged:
            process = subprocess.Popen(
                [str(self.home / "bin" / command[0]), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=logged,
                cwd=self.data,
                env=self._environment(extra),
                start_new_session=True,
            )
        running = Running(process, out, log)
        self.started.append(running)
        return running

    def end(self) -> None:
        """End each process; none is left, of those either that they have started."""
        processes = [running.process for running in reversed(self.started)]
        sessions = {process.pid for process in processes}
        for process in processes:
            process.terminate()
        try:
            for process in processes:
                process.wait(STARTS)
            wait(lambda: not living(sessions), "no process of Spark lives", timeout=STARTS)
        finally:
            for left in living(sessions):
                with suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)


@dataclass(frozen=True)
class Running:
    """A process that was started.

    Args:
        process: it is the first one of its session.
        out: what it prints.
        log: what it logs.
    """

    process: subprocess.Popen[bytes]
    out: Path
    log: Path

    def says(self, pattern: str) -> str:
        """Wait until it logs what a pattern with one group finds; return what the group has."""
        found: list[str] = []

        def said() -> bool:
            assert self.process.poll() is None, self._last()
            found[:] = re.findall(pattern, self.log.read_text(errors="replace"))[:1]
            return bool(found)

        wait(said, f"{self.log.name} has {pattern}", timeout=STARTS)
        return found[0]

    def result(self) -> Any:
        """Wait until it has ended well; return what it has printed, from JSON."""
        assert self.process.wait(RUNS) == 0, self._last()
        return json.loads(self.out.read_text().splitlines()[-1])

    def _last(self) -> str:
        """Return the ends of its output: there, a program submitted tells why it failed."""
        texts = (path.read_text(errors="replace") for path in (self.log, self.out))
        return "\n".join(text if len(text) < 2 * _LAST else _cut(text) for text in texts)


@contextmanager
def site(folder: Path, packages: Path | None = None) -> Iterator[Site]:
    """Have Spark live in a folder for one block.

    Args:
        folder: an empty one.
        packages: see `Site`.

    Raises:
        TimeoutError: a process was left.
        AssertionError: something was left elsewhere.
    """
    before = folders()
    made = Site(folder, packages)
    made.furnish()
    try:
        yield made
    finally:
        made.end()
    assert folders() == before
