"""`make test-fast` runs every fast test once, in one of two processes."""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.halves import HALVES, command, half_of, main

ROOT = Path(__file__).parent.parent
FILES = sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/**/test_*.py"))


def collected(*words: str) -> list[str]:
    """Return the names of the tests that a run of pytest would run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
    )
    assert done.returncode in {0, pytest.ExitCode.NO_TESTS_COLLECTED}, done.stdout
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_no_half_has_more_than_three_files_in_five() -> None:
    count = sum(half_of(path) == HALVES[0] for path in FILES)
    assert 0.4 < count / len(FILES) < 0.6


def test_the_half_of_a_file_is_the_same_wherever_it_is_asked_for() -> None:
    # As two processes see it, each with hashes of its own.
    assert half_of(PurePosixPath("tests/test_words.py")) == 2
    assert half_of(PurePosixPath("tests/net/test_tls.py")) == 2


@pytest.mark.slow
def test_the_halves_of_a_folder_and_a_file_have_each_test_once() -> None:
    asked = ["tests/journal", "tests/test_words.py"]
    whole = collected(*asked)
    halves = [collected(*asked, "--half", str(half)) for half in HALVES]
    assert all(halves)
    assert sorted([*halves[0], *halves[1]]) == sorted(whole)


@pytest.mark.slow
def test_what_is_not_read_has_no_fast_test() -> None:
    words = command(1, ())
    chosen = words[words.index("-m", 3) : words.index("--hypothesis-profile")]
    folders = [word.removeprefix("--ignore=") for word in words if word.startswith("--ignore=")]
    folders.remove("tests/house")  # `make lint` runs it
    assert folders
    assert collected(*folders, *chosen) == []


def test_the_second_half_is_heard_and_the_worst_status_counts(
    capfd: pytest.CaptureFixture[str],
) -> None:
    status = main(["--no-such-option"])
    said = capfd.readouterr()
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "--no-such-option" in said.err
    assert "--no-such-option" in said.out
