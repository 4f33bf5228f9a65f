"""One process: its job, its answers, and its CPU from its start to its end.

Decides: that a process which takes too long is ended, by its process id, and that whatever is no
result has a reason.
Never: judges a result.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kgroup.errors import KGroupError
from kgroup.testing.kafka.jars import (
    DEFAULT_VERSION,
    Java,
    cache_folder,
    fetch_jars,
    find_java,
    find_resolvers,
)

ROOT: Final = Path(__file__).parents[2]
DRIVER: Final = ROOT / "benchmarks" / "java" / "Consume.java"
_NEEDED: Final = ("kafka-clients-*", "slf4j-*", "lz4-java-*", "zstd-jni-*", "snappy-java-*")


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a job.

    Args:
        status: `result`, `absent` or `failed`.
        reason: why there is no result.
        sample: raw, as the results keep it.
    """

    status: str
    reason: str = ""
    sample: dict[str, Any] = field(default_factory=dict)


def work(
    command: Sequence[str], job: Mapping[str, Any], limit: float, environ: Mapping[str, str]
) -> Answer:
    """Run a process, give it its job, and wait for its end.

    Args:
        command: the process.
        job: as `benchmarks.clients` describes it.
        limit: seconds until it is ended.
        environ: variables on top of this process's own.
    """
    load = os.getloadavg()[0]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "", **environ}
    with tempfile.TemporaryFile() as errors:
        spawned = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
        timer = threading.Timer(limit, process.kill)
        timer.start()
        try:
            lines, usage = _talk(process, job)
        finally:
            timer.cancel()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
        last_words = errors.read().decode(errors="replace").strip().splitlines()
    answers: dict[str, Any] = {}
    for line in lines:
        answers.update(json.loads(line))
    for status in ("absent", "failed"):
        if status in answers:
            return Answer(status, answers[status])
    if process.returncode or "result" not in answers:
        over = time.monotonic() - spawned > limit
        # The last words may name folders of this machine.
        reason = f"took more than {limit:.0f} s" if over else "".join(last_words[-1:])
        reason = reason.replace(f"{ROOT}{os.sep}", "")
        return Answer("failed", reason or f"ended with {process.returncode}")
    sample = {"load": round(load, 2), "spawned_at": spawned, "process_cpu_s": usage, **answers}
    return Answer("result", sample=sample)


def _talk(process: subprocess.Popen[bytes], job: Mapping[str, Any]) -> tuple[list[bytes], float]:
    """Write the job, read all answers, and return them with the CPU of the whole process."""
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:
        with suppress(BrokenPipeError):  # it has ended; its last words say why
            process.stdin.write(json.dumps(job).encode() + b"\n")
        lines = process.stdout.read().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return lines, usage.ru_utime + usage.ru_stime


def python_command(client: str) -> list[str]:
    """Return the command of a client in Python."""
    return [sys.executable, "-m", "benchmarks.clients", client]


def java_command() -> list[str] | str:
    """Compile the Java client when that has not been done; return its command, or why not."""
    java = find_java()
    if java is None:
        return "no Java of release 17 or newer was found"
    compiler = _compiler(java)
    if compiler is None:
        return f"{java} has no javac beside it and none is on the path: it takes a JDK"
    try:
        jars = fetch_jars(DEFAULT_VERSION, cache_folder(), find_resolvers(java))
        found = sorted(str(path) for name in _NEEDED for path in jars.glob(f"{name}.jar"))
        classes = _compiled(compiler, found)
    except (KGroupError, OSError, subprocess.CalledProcessError) as error:
        return str(error)
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    return [java.command, quiet, "-cp", os.pathsep.join([str(classes), *found]), "Consume"]


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
