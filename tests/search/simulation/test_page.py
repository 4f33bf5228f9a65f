"""The page about simulation holds."""

import re
from pathlib import Path

import pytest

from kgroup.cli import main
from tests.search.simulation.schedule import Level, Mode

PAGE = (Path(__file__).parents[3] / "docs" / "simulation.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "simulation.md", "exec"), {})


def test_every_level_and_mode_is_told_of() -> None:
    for each in (*Level, *Mode):
        assert f"`{each.value}`" in PAGE


@pytest.mark.slow
def test_the_commands_take_the_options_that_are_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "--help"]) == 0
    told = capsys.readouterr().out
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE):
        assert option in told
