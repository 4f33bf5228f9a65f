"""A PostgreSQL of the tests' own: started from what is installed, reached by a socket in a folder.

Decides: where its programs are looked for, and as whom it runs: it refuses to run as root.
Never: touches a server that was there before; leaves a process or a file.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REQUIRE_REAL

_DEBIAN = Path("/usr/lib/postgresql")
_PATIENCE = 30.0
_USERS = ("postgres", "nobody")


@contextmanager
def postgres() -> Iterator[str]:
    """Have a server for one block; yields how psycopg reaches it."""
    programs = _programs()
    psycopg = _psycopg()
    if programs is None or psycopg is None:
        missing = "PostgreSQL" if programs is None else "psycopg"
        if REQUIRE_REAL and psycopg is not None:  # psycopg is not in the lock yet
            pytest.fail(f"{missing} must be installed here")
        pytest.skip(f"{missing} is not installed")
    folder = Path(tempfile.mkdtemp(prefix="kgroup-postgres-"))
    try:
        with _running(programs, folder) as conninfo:
            _wait(psycopg, conninfo)
            yield conninfo
    finally:
        shutil.rmtree(folder)


def _programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`, None without."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = sorted(_DEBIAN.glob("*/bin/initdb")) if _DEBIAN.exists() else []
    return versions[-1].parent if versions else None


def _psycopg() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return psycopg


@contextmanager
def _running(programs: Path, folder: Path) -> Iterator[str]:
    user = _other_user() if os.getuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)
    data = str(folder / "data")
    initdb = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "kgroup", "--no-sync"]
    subprocess.run(initdb, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    command = [str(programs / "postgres"), "-D", data, "-k", str(folder), "-c", "listen_addresses="]
    quick = ["-c", "fsync=off", "-c", "log_min_messages=fatal"]
    with subprocess.Popen([*command, *quick], user=user, cwd=folder) as server:
        try:
            yield f"host={folder} user=kgroup dbname=postgres"
        finally:
            server.terminate()
            try:
                server.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()


def _other_user() -> str:
    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in _USERS if name in known)


def _wait(psycopg: Any, conninfo: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            psycopg.connect(conninfo).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)
