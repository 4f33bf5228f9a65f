"""Servers of the tests' own, started from what is installed, reached by a socket in a folder.

Decides: what becomes of a test whose server, or the client for it, is not installed: it is skipped,
and in continuous integration it fails.
Never: touches a server that was there before; leaves a process or a file.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import pytest

from tests.conftest import REQUIRE_REAL

T = TypeVar("T")

_DEBIAN = Path("/usr/lib/postgresql")
_PATIENCE = 60.0
_USERS = ("postgres", "nobody")


@contextmanager
def postgres() -> Iterator[str]:
    """Have a PostgreSQL for one block, not as root; yields how psycopg reaches it."""
    programs = need("PostgreSQL", _postgres_programs())
    need("psycopg", _has("psycopg"))
    import psycopg  # noqa: PLC0415 - an extra

    with _folder() as folder:
        user = _other_user() if os.getuid() == 0 else None
        if user is not None:
            shutil.chown(folder, user)
        data = str(folder / "data")
        initdb = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "kgroup", "--no-sync"]
        subprocess.run(initdb, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        program = [str(programs / "postgres"), "-D", data, "-k", str(folder)]
        quick = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "log_min_messages=fatal"]
        place = f"host={folder} user=kgroup dbname=postgres"
        with _running([*program, *quick], folder, user):
            _wait(lambda: psycopg.connect(place).close(), psycopg.OperationalError)
            yield place


@contextmanager
def redis() -> Iterator[str]:
    """Have a Redis for one block; yields its URL."""
    program = need("redis-server", shutil.which("redis-server"))
    need("redis-py", _has("redis"))
    with _folder() as folder, redis_at(program, folder) as url:
        yield url


@contextmanager
def redis_at(program: str, folder: Path) -> Iterator[str]:
    """Have a Redis for one block, with its socket in a folder."""
    from redis import ConnectionError, Redis  # noqa: A004, PLC0415 - an extra

    place = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(place), "--save", "", "--loglevel", "warning"]
    with _running([program, *options], folder, None):
        client = Redis(unix_socket_path=str(place))
        try:
            _wait(client.ping, ConnectionError)
        finally:
            client.close()
        yield f"unix://{place}"


def need(what: str, found: T | None) -> T:
    """Return what was found; without it the test is skipped, or fails where all must be there."""
    if found is not None:
        return found
    if REQUIRE_REAL:
        pytest.fail(f"{what} must be installed here")
    pytest.skip(f"{what} is not installed")


def _has(module: str) -> bool | None:
    return True if find_spec(module) is not None else None


def _postgres_programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`, None without."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb")) if _DEBIAN.exists() else []
    return versions[-1].parent if versions else None


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kgroup-server-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _running(command: Sequence[str], folder: Path, user: str | None) -> Iterator[None]:
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, user=user, cwd=folder, stdout=silent) as server:
        try:
            yield
        finally:
            server.terminate()
            try:
                server.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()


def _other_user() -> str:
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in _USERS if name in known)


def _wait(ask: Callable[[], object], failure: type[Exception]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            ask()
        except failure:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
