"""Failing schedules as tests to keep."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.search.simulation import play as real
from tests.search.simulation.regression import name_of, regression_test
from tests.search.simulation.schedule import Level, Schedule
from tests.search.simulation.toy import breaking, play, play_well


def executed(text: str) -> dict[str, Any]:
    module: dict[str, Any] = {}
    exec(compile(text, "test_kept.py", "exec"), module)
    return module


def test_the_file_replays_the_schedule_and_fails_while_it_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = regression_test(play(breaking()))
    monkeypatch.setattr(real, "play", play)
    module = executed(text)
    assert module["SCHEDULE"] == breaking()
    with pytest.raises(AssertionError):
        module[name_of(play(breaking()))]()


def test_the_file_passes_when_nothing_breaks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    text = regression_test(play(breaking()))
    monkeypatch.setattr(real, "play", play_well)
    executed(text)[name_of(play(breaking()))]()


def test_the_name_is_a_sentence_of_what_must_hold_and_through_what() -> None:
    name = "test_a_partition_has_one_owner_at_a_time_although_m0_closes_and_the_coordinator_dies"
    assert name_of(play(breaking())) == name


def test_the_story_tells_the_plan_and_where_it_came_from() -> None:
    text = regression_test(play(breaking()), note="Shrunk from 300 picks.")
    assert text.startswith('"""A schedule that broke S2')
    assert "S2: t0-0 has two owners." in text
    assert "Shrunk from 300 picks." in text
    assert "m0 closes" in text


def test_a_schedule_without_any_pick_is_written_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real, "play", play_well)
    module = executed(regression_test(play_well(Schedule(Level.B, picks=(), backend="trio"))))
    assert module["SCHEDULE"] == Schedule(Level.B, picks=(), backend="trio")


def test_the_file_is_in_the_house_format(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").touch()
    path = tmp_path / "test_kept.py"
    path.write_text(regression_test(play(breaking())))
    root = Path(__file__).parents[3]
    for words in (["format", "--check"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *words, "--config", str(root / "pyproject.toml")]
        done = subprocess.run([*ruff, str(path)], capture_output=True, check=False, text=True)
        assert done.returncode == 0, done.stdout
