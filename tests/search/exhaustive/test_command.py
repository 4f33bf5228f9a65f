"""The command line: words, figures, exit codes."""

import json

import pytest

from kgroup.membership.events import Event, Moment
from kgroup.membership.step import Step, step
from kgroup.membership.value import GroupMember
from tests.search.exhaustive.__main__ import main

ALONE = ["--mode", "eager", "--members", "1", "--faults", "0"]


def stops(member: GroupMember, event: Event, moment: Moment) -> Step:
    """A person presses Ctrl-C while the machine steps."""
    raise KeyboardInterrupt


def sends_nothing(member: GroupMember, event: Event, moment: Moment) -> Step:
    """Whatever the machine wants done is not done."""
    result = step(member, event, moment)
    return Step(result.member, (), result.rows)


def test_a_complete_search_says_so_and_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ALONE) == 0
    told = capsys.readouterr()
    assert told.out.startswith("eager 1x2x0: complete: ")
    assert "rows" in told.out
    assert "states" in told.err


def test_figures_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ALONE, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["complete"] is True
    assert figures["broken"] is None
    assert figures["states"] == figures["expanded"]
    assert figures["transitions"] >= figures["states"] - 1


def test_a_broken_promise_is_told_in_numbered_steps_and_ends_with_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(ALONE, sends_nothing) == 1
    told = capsys.readouterr().out
    assert "eager 1x2x0: L2: a FINDING member waits for nothing" in told
    assert "  1. t=0 a: starts" in told


def test_a_bound_that_is_not_one_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--members", "9"]) == 2
    assert "members is 9; it must be 1 to 3" in capsys.readouterr().err


def test_an_unknown_kind_of_fault_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kinds", "rain"]) == 2
    assert "rain" in capsys.readouterr().err


def test_who_stops_it_is_told_how_far_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ALONE, stops) == 130
    assert "stopped: 1 states" in capsys.readouterr().err


def test_the_figures_of_a_search_that_was_stopped_are_not_lost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*ALONE, "--json"], stops) == 130
    figures = json.loads(capsys.readouterr().out)
    assert figures["complete"] is False
    assert figures["states"] == 1
    assert figures["ticks_to_rest"] is None
