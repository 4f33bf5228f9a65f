"""`make test` is two runs of pytest, and says the worst of both."""

import pytest

from tests.__main__ import PASSES, command, main, worst

WITHOUT, REAL = PASSES


def outcome(*statuses: int, arguments: tuple[str, ...] = ()) -> tuple[int, list[list[str]]]:
    """Return the status of all, and the commands that were run."""
    left, commands = list(statuses), []

    def call(words: list[str]) -> int:
        commands.append(words)
        return left.pop(0)

    return main(arguments, call), commands


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1), (3, 1, 3), (0, 5, 0), (5, 0, 0), (5, 1, 1), (5, 5, 5)],
)
def test_the_status_is_the_worst_and_nothing_selected_is_no_failure_of_one(
    first: int, second: int, whole: int
) -> None:
    status, commands = outcome(first, second)
    assert status == whole
    assert len(commands) == 2


@pytest.mark.parametrize("status", [pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR])
def test_an_interrupt_or_a_wrong_option_ends_both(status: int) -> None:
    assert outcome(status) == (status, outcome(status)[1])
    assert len(outcome(status)[1]) == 1


def test_what_is_given_goes_to_both_and_marks_narrow_each() -> None:
    _, commands = outcome(0, 0, arguments=("-k", "static", "-m", "slow", "tests/net"))
    for part, words in zip(PASSES, commands, strict=True):
        assert words[-3:] == ["-k", "static", "tests/net"]
        assert words[words.index("-m", 2) + 1] == f"({part.marks}) and (slow)"


def test_no_test_is_in_both_passes_and_each_is_in_one(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    real\n    docker\n    slow")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.real
        def test_real(): ...

        @pytest.mark.docker
        def test_docker(): ...

        @pytest.mark.slow
        def test_slow(): ...

        def test_plain(): ...
        """
    )
    first, second = (
        pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:anyio", "-m", part.marks)
        for part in PASSES
    )
    first.assert_outcomes(passed=2, deselected=2)
    second.assert_outcomes(passed=2, deselected=2)


def test_real_brokers_are_never_shared_by_processes() -> None:
    assert "-n" in command(WITHOUT, ())
    assert "-n" not in command(REAL, ())


def test_nothing_at_all_is_no_success() -> None:
    assert worst([]) == pytest.ExitCode.NO_TESTS_COLLECTED
