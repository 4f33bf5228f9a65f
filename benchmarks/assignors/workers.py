"""The processes that run the clients, seen from outside.

Decides: how a client is started, and that one which takes too long is ended, by its process id.
Never: fails for want of Java: it says why there is none.
"""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from kgroup.errors import KGroupError
from kgroup.testing.kafka.jars import (
    DEFAULT_VERSION,
    cache_folder,
    fetch_jars,
    find_java,
    find_resolvers,
)

PYTHON_CLIENTS: Final = ("kgroup", "aiokafka", "kafka-python")
DRIVER: Final = Path(__file__).parent.parent / "java" / "Assignors.java"
JAVA_OPTIONS: Final = ("-Xms4g", "-Xmx4g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
PATIENCE: Final = 180.0
"""Seconds for what is not timed; the slowest decoder needs many."""


class StoppedError(Exception):
    """The client took longer than it may; its process has been ended."""


class FailedError(Exception):
    """The client raised, or its process ended by itself."""


class Worker:
    """One client in a process of its own, begun when it is first needed.

    Args:
        client: name of the client.
        command: that runs it.
        compiles: whether it gets faster while it runs, so that it has to be warmed up for long.

    Attributes:
        life: how many processes it has had; a new one knows no scenario.
    """

    def __init__(self, client: str, command: Sequence[str], *, compiles: bool = False) -> None:
        self.client = client
        self.compiles = compiles
        self.life = 0
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def ask(self, do: str, limit: float = PATIENCE, **more: object) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Args:
            do: what to do.
            limit: seconds to wait.
            more: rest of the question.

        Raises:
            StoppedError: no answer in time.
            FailedError: what the client raised, or that its process ended.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"do": do, **more}, separators=(",", ":")) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=limit)
        except queue.Empty:
            self.close()
            raise StoppedError(f"{self.client}: {do} took more than {limit:.0f} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
            raise FailedError(f"the process of {self.client} ended")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise FailedError(answer["failed"])
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        assert process.stdout is not None
        self._answers = queue.Queue()
        arguments = (process.stdout, self._answers)
        threading.Thread(target=_collect, args=arguments, daemon=True).start()
        self._process = process
        self.life += 1
        return process


def _collect(lines: TextIO, answers: queue.Queue[str]) -> None:
    with lines:
        for line in lines:
            answers.put(line)
    answers.put("")


def python_worker(client: str) -> Worker:
    """Return a worker for a client in Python."""
    return Worker(client, [sys.executable, "-m", "benchmarks.assignors", "--one", client])


def java_worker() -> Worker | str:
    """Return a worker for the Java client, or why there is none."""
    java = find_java()
    if java is None:
        return "no Java of release 17 or newer was found"
    try:
        jars = fetch_jars(DEFAULT_VERSION, cache_folder(), find_resolvers(java))
    except (KGroupError, OSError) as error:
        return str(error)
    command = [java.command, *JAVA_OPTIONS, "-cp", f"{jars}/*", str(DRIVER)]
    worker = Worker("Java", command, compiles=True)
    try:
        worker.ask("hello", 60.0)
    except (FailedError, StoppedError) as error:
        worker.close()
        return f"{error}; it takes a JDK to run a program from its source"
    return worker
