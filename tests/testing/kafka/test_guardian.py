"""Processes end with their owner, and only the right ones."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgroup.testing.kafka.guardian import Guardian, end_process, is_running

OWNER = """
import sys
from pathlib import Path
from kgroup.testing.kafka.guardian import Guardian
guardian = Guardian(Path(sys.argv[1]))
guardian.start()
guardian.watch(int(sys.argv[2]))
print("watching", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "cluster"
    path.mkdir()
    return path


@pytest.fixture
def process(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for ever, with the cluster's folder in its command line."""
    words = [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()", str(folder)]
    with subprocess.Popen(words) as started:
        try:
            until(lambda: is_running(started.pid, str(folder)))
            yield started
        finally:
            started.kill()


def test_a_process_is_known_by_its_command_line(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    assert is_running(process.pid, str(folder))
    assert not is_running(process.pid, "another folder")


def test_a_process_that_is_not_the_one_meant_is_left_alone(
    process: subprocess.Popen[bytes],
) -> None:
    assert not end_process(process.pid, "another folder", hard=True)
    assert process.poll() is None


def test_a_process_that_is_meant_gets_the_signal(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    assert end_process(process.pid, str(folder))
    assert process.wait(5) != 0
    assert not end_process(process.pid, str(folder))


def test_finishing_ends_the_processes_and_removes_the_folder(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    guardian = Guardian(folder)
    guardian.start()
    guardian.watch(process.pid)
    guardian.finish()
    assert process.wait(5) != 0
    assert not folder.exists()


def test_releasing_leaves_everything_as_it_is(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    guardian = Guardian(folder)
    guardian.start()
    guardian.watch(process.pid)
    guardian.release()
    assert process.poll() is None
    assert folder.exists()


def test_an_owner_that_is_killed_takes_its_processes_along(
    folder: Path, process: subprocess.Popen[bytes]
) -> None:
    words = [sys.executable, "-c", OWNER, str(folder), str(process.pid)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"watching\n"
        owner.kill()
    assert process.wait(10) != 0
    until(lambda: not folder.exists())


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
