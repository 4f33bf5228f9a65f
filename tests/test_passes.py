"""`make test` is three runs of pytest, one of them beside another, and says the worst of all.

What a few tests on real brokers said is asked for again.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.__main__ import ALONE, BESIDE, REAL, beside, command, failed_in, main
from tests.halves import worst

PASSES = ALONE, REAL, BESIDE


def outcome(
    *statuses: int, arguments: tuple[str, ...] = (), failed: Sequence[str] = ()
) -> tuple[int, list[list[str]]]:
    """Return the status of all, and the commands that were run.

    Args:
        statuses: of the runs: alone, on real brokers, beside; then of what is asked for again.
        arguments: as given by a user.
        failed: names of what failed on real brokers.
    """
    left, commands = [*statuses[:2], *statuses[3:]], []

    def call(words: list[str]) -> int:
        commands.append(words)
        if words[-1].startswith("cache_dir="):
            remember(Path(words[-1].removeprefix("cache_dir=")), failed)
        return left.pop(0)

    @contextmanager
    def start(words: Sequence[str]) -> Iterator[Callable[[], int]]:
        def wait() -> int:
            commands.append([*words])
            return statuses[2]

        yield wait

    return main(arguments, call, start), commands


def remember(cache: Path, failed: Sequence[str]) -> None:
    """Keep the names of what failed where pytest keeps them."""
    found = cache / "v" / "cache" / "lastfailed"
    found.parent.mkdir(parents=True)
    found.write_text(json.dumps(dict.fromkeys(failed, True)))


@pytest.mark.parametrize(
    ("statuses", "whole"),
    [
        ((0, 0, 0), 0),
        ((1, 0, 0), 1),
        ((0, 1, 0), 1),
        ((0, 0, 1), 1),
        ((3, 1, 0), 3),
        ((0, 5, 5), 0),
        ((5, 0, 5), 0),
        ((5, 5, 1), 1),
        ((5, 5, 5), 5),
        ((0, 0, -9), 9),
        ((-9, 0, 0), 9),
    ],
)
def test_the_status_is_the_worst_and_nothing_selected_is_no_failure_of_one(
    statuses: tuple[int, int, int], whole: int
) -> None:
    status, commands = outcome(*statuses)
    assert status == whole
    assert len(commands) == 3


@pytest.mark.parametrize("status", [pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR])
def test_an_interrupt_or_a_wrong_option_ends_all(status: int) -> None:
    first, after_first = outcome(status)
    second, after_second = outcome(0, status)
    assert (first, len(after_first)) == (status, 1)
    assert (second, len(after_second)) == (status, 2)


def test_what_is_given_goes_to_all_and_marks_narrow_each() -> None:
    _, commands = outcome(0, 0, 0, arguments=("-k", "static", "-m", "slow", "tests/net"))
    for part, words in zip(PASSES, commands, strict=True):
        assert " ".join(words).count("-k static tests/net") == 1
        assert words[words.index("-m", 2) + 1] == f"({part.marks}) and (slow)"


def test_no_test_is_in_two_passes_and_each_is_in_one(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    real\n    docker\n    slow\n    spare")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.real
        def test_real(): ...

        @pytest.mark.docker
        def test_docker(): ...

        @pytest.mark.slow
        def test_slow(): ...

        @pytest.mark.slow
        @pytest.mark.spare
        def test_spare(): ...

        def test_plain(): ...
        """
    )
    for part, passed in zip(PASSES, (2, 2, 1), strict=True):
        found = pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "-p", "no:anyio", "-m", part.marks
        )
        found.assert_outcomes(passed=passed, deselected=5 - passed)


def test_real_brokers_are_never_shared_by_processes() -> None:
    assert "-n" in command(ALONE, ())
    assert "-n" not in command(REAL, ())


def test_nothing_at_all_is_no_success() -> None:
    assert worst([]) == pytest.ExitCode.NO_TESTS_COLLECTED


def test_what_runs_beside_is_heard_whole_and_has_the_lowest_priority(
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = "import os; print('nice', os.nice(0)); raise SystemExit(3)"
    with beside([sys.executable, "-c", words]) as wait:
        status = wait()
    assert status == 3
    assert capfd.readouterr().out == "nice 19\n"


@pytest.mark.slow
def test_what_runs_beside_ends_with_who_does_not_wait_for_it() -> None:
    with pytest.raises(KeyboardInterrupt), beside(["sleep", "1000"]):
        raise KeyboardInterrupt


def test_a_test_on_a_real_broker_that_then_passes_three_times_is_named_and_does_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, commands = outcome(0, 1, 0, 0, 0, 0, failed=["tests/real/test_a.py::test_b"])
    assert status == 0
    assert [words[-1] for words in commands[3:]] == ["tests/real/test_a.py::test_b"] * 3
    assert "UNSTEADY" in capsys.readouterr().err


@pytest.mark.parametrize("again", [(1,), (0, 1), (0, 0, 1)])
def test_one_failure_more_is_a_failure(again: tuple[int, ...]) -> None:
    status, commands = outcome(0, 1, 0, *again, failed=["tests/real/test_a.py::test_b"])
    assert status == 1
    assert len(commands) == 3 + len(again)


def test_many_failures_are_no_accident() -> None:
    status, commands = outcome(0, 1, 0, failed=[f"tests/real/test_{n}.py" for n in range(4)])
    assert status == 1
    assert len(commands) == 3


@pytest.mark.parametrize("statuses", [(1, 0, 0), (0, 0, 1)])
def test_what_needs_no_real_broker_is_not_asked_twice(statuses: tuple[int, ...]) -> None:
    status, commands = outcome(*statuses)
    assert status == 1
    assert len(commands) == 3


def test_what_failed_is_read_from_what_pytest_keeps(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_good(): ...\n\ndef test_bad():\n    assert False\n")
    cache = pytester.path / "kept"
    pytester.runpytest_inprocess("-p", "no:anyio", "-o", f"cache_dir={cache}")
    assert failed_in(cache) == ["test_it.py::test_bad"]
