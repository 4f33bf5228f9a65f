"""One process: its job, its lines, and its CPU from its start to its end.

Decides: that a process which takes too long is ended, by its process id, and that whatever is no
result has a reason; that Ctrl-C in a terminal is ours to hear, and no process outlives us: it ends
when its standard input does.
Never: judges a result.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import IO, Any, Final

import kgroup
from kgroup.errors import KGroupError
from kgroup.testing.kafka.jars import (
    DEFAULT_VERSION,
    Java,
    cache_folder,
    fetch_jars,
    find_java,
    find_resolvers,
)
from kgroup.values import dataclass

ROOT: Final = Path(kgroup.__file__).parents[1]
DRIVER: Final = Path(__file__).parent / "java" / "Consume.java"
_NEEDED: Final = ("kafka-clients-*", "slf4j-*", "lz4-java-*", "zstd-jni-*", "snappy-java-*")
_ENDS: Final = ("result", "absent", "failed")
_LAST_WORDS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a job.

    Args:
        status: `result`, `absent`, `failed` or `wrong`.
        reason: why there is no result.
        sample: raw, as the results keep it.
    """

    status: str
    reason: str = ""
    sample: dict[str, Any] = field(default_factory=dict)


class Talk:
    """A process that is told a job, says lines while it works, and ends when it is asked to.

    Args:
        command: the process.
        job: as `kgroup.bench.clients` describes it.
        environ: variables on top of this process's own.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        job: Mapping[str, Any],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.spawned_at = time.monotonic()
        self.load = round(os.getloadavg()[0], 2)
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        try:
            self._process = _started(command, environ or {}, self._errors)
        except OSError:
            self._errors.close()
            raise
        self._fresh: deque[dict[str, Any]] = deque()
        self._kept: dict[str, Any] = {}
        self._fault = ""
        self._cpu = 0.0
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()
        self.tell(job)

    def tell(self, line: Mapping[str, Any]) -> None:
        """Say a line to it; one that has ended hears nothing."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps(line).encode() + b"\n")

    def take(self) -> list[dict[str, Any]]:
        """Return the lines it has said since the last time, each with when it was `heard`."""
        return [self._fresh.popleft() for _ in range(len(self._fresh))]

    @property
    def ready(self) -> bool:
        """Whether it has said that its client is loaded."""
        return "ready" in self._kept

    @property
    def over(self) -> bool:
        """Whether it will say nothing more."""
        return not self._ear.is_alive()

    def kill(self) -> None:
        """End it at once (SIGKILL), and what it may have started."""
        if not self.over:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, limit: float) -> Answer:
        """Wait for its end, or end it, and return what became of its job.

        Args:
            limit: seconds that it may take from now on.
        """
        self._ear.join(limit)
        hung = self._ear.is_alive()
        if hung:
            self.kill()
            self._ear.join()
        return self._answer(f"took more than {limit:.0f} s" if hung else "")

    def close(self) -> None:
        """End it if it has not ended, whatever it was doing."""
        if not self._errors.closed:
            self.kill()
            self._ear.join()
            self._answer("")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._hear(line)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._cpu = usage.ru_utime + usage.ru_stime

    def _hear(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            said_ = line[:80].decode("utf-8", "replace").strip()
            self._fault = f"said {said_!r}, which is no JSON object"
            # Nobody else has waited for it, so the id is still its own.
            os.kill(self._process.pid, signal.SIGKILL)
            return
        for kind in ("ready", *_ENDS):
            if kind in said:
                self._kept[kind] = said[kind]
        self._fresh.append({**said, "heard": time.time()})

    def _answer(self, reason: str) -> Answer:
        words = self._close_streams()
        for status in ("absent", "failed"):
            if status in self._kept:
                return Answer(status, str(self._kept[status]))
        code = self._process.returncode
        if reason or self._fault or code or "result" not in self._kept:
            return Answer("failed", reason or self._fault or words or f"ended with {code}")
        measured = {"load": self.load, "spawned_at": self.spawned_at, "process_cpu_s": self._cpu}
        return Answer("result", sample={**measured, **self._kept})

    def _close_streams(self) -> str:
        """Close what is open; return its last words, without folders of this machine."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        with self._errors as errors:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_WORDS))
            lines = errors.read().decode(errors="replace").strip().splitlines()
        return "".join(lines[-1:]).replace(f"{ROOT}{os.sep}", "")


def work(
    command: Sequence[str], job: Mapping[str, Any], limit: float, environ: Mapping[str, str]
) -> Answer:
    """Run a process, give it its job, and wait for its end.

    Args:
        command: the process.
        job: as `kgroup.bench.clients` describes it.
        limit: seconds until it is ended.
        environ: variables on top of this process's own.
    """
    try:
        talk = Talk(command, job, environ)
    except OSError as error:
        return Answer("absent", f"{command[0]}: {error.strerror}")
    try:
        return talk.end(limit)
    finally:
        talk.close()


def _started(
    command: Sequence[str], environ: Mapping[str, str], errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    # Somebody's own adapter is started where they are, with what they have set.
    ours = sys.executable in command
    own = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""} if ours else {}
    return subprocess.Popen(
        command,
        cwd=ROOT if ours else None,
        env={**os.environ, **own, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
        start_new_session=True,
    )


def python_command(client: str) -> list[str]:
    """Return the command of a client in Python."""
    return [sys.executable, "-m", "kgroup.bench.clients", client]


def java_command() -> list[str] | str:
    """Compile the Java client when that has not been done; return its command, or why not."""
    tools = java_tools()
    if isinstance(tools, str):
        return tools
    java, compiler = tools
    try:
        jars = fetch_jars(DEFAULT_VERSION, cache_folder(), find_resolvers(java))
        found = sorted(str(path) for name in _NEEDED for path in jars.glob(f"{name}.jar"))
        classes = _compiled(compiler, found)
    except (KGroupError, OSError, subprocess.CalledProcessError) as error:
        return str(error)
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    return [java.command, quiet, "-cp", os.pathsep.join([str(classes), *found]), "Consume"]


def java_tools() -> tuple[Java, str] | str:
    """Return a Java and its compiler, or why there is none."""
    java = find_java()
    if java is None:
        return "no Java of release 17 or newer was found"
    compiler = _compiler(java)
    if compiler is None:
        return f"{java} has no javac beside it and none is on the path: it takes a JDK"
    return java, compiler


def _compiler(java: Java) -> str | None:
    beside = Path(java.command).resolve().with_name("javac")
    return str(beside) if beside.exists() else shutil.which("javac")


def _compiled(compiler: str, jars: Sequence[str]) -> Path:
    """Return the folder of the compiled client; its name tells its source."""
    digest = hashlib.sha256(DRIVER.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "benchmarks" / f"consume-{DEFAULT_VERSION}-{digest}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            words = [compiler, "--release", "17", "-cp", os.pathsep.join(jars)]
            words += ["-d", f"{scratch}/classes"]
            subprocess.run([*words, str(DRIVER)], check=True, capture_output=True)
            Path(scratch, "classes").rename(folder)
    return folder
