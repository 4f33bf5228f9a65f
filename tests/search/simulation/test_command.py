"""`make search ARGS=simulate`, mostly on a world of a few lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.search.simulation.command import run
from tests.search.simulation.schedule import Level, Mode, Schedule
from tests.search.simulation.toy import breaking

Shown = pytest.CaptureFixture[str]

TOY = ["--world", "tests.search.simulation.toy:play"]
WELL = ["--world", "tests.search.simulation.toy:play_well"]
BADLY = ["--world", "tests.search.simulation.toy:play_badly"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def simulated(words: list[str], code: int = 0) -> None:
    assert run(["--processes", "1", *words]) == code


def facts(words: list[str], shown: Shown, code: int = 0) -> dict[str, Any]:
    simulated([*words, "--json"], code)
    told: dict[str, Any] = json.loads(shown.readouterr().out)
    return told


# -- a campaign ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_good_campaign_is_told_in_sums(capsys: Shown) -> None:
    simulated(["--schedules", "50", "--seed", "1", *WELL])
    out = capsys.readouterr().out
    assert "50 in" in out
    assert "a group has      4.0 members, 36.5 s, 800 events, 0.0 perturbations" in out
    assert "rows fired       1 of" in out
    assert "rows never fired: " in out
    assert out.endswith("nothing is broken\n")
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_a_violation_is_saved_small_with_a_diagram_and_a_test(capsys: Shown) -> None:
    simulated(["--schedules", "100", "--mode", "eager", *TOY], code=1)
    out = capsys.readouterr().out
    assert "picks): S2: t0-0 has two owners" in out
    assert "nothing is broken" not in out
    kept = sorted(path.name for path in Path("simulation").iterdir())
    assert {Path(name).suffix for name in kept} == {".json", ".txt", ".py"}
    for name in kept:
        assert name in out
    small = min(
        (Schedule.load(path) for path in Path("simulation").glob("*.json")),
        key=lambda each: len(each.picks or ()),
    )
    assert len(small.picks or ()) < 12
    assert any("def test_a_partition_has" in each.read_text() for each in Path().rglob("test_*"))


@pytest.mark.slow
def test_a_ledger_says_what_was_played_by_what_and_what_came_of_it(capsys: Shown) -> None:
    words = ["--schedules", "100", "--mode", "eager", "--out", "here", "--shrink", "5", *TOY]
    told = facts(words, capsys, code=1)
    assert told["campaign"] == {
        "level": "A",
        "mode": "eager",
        "backend": "asyncio",
        "first_seed": 0,
        "schedules": 100,
        "processes": 1,
    }
    assert told["result"] == "broken"
    first = told["violations"][0]
    assert first["rules"] == ["S2"]
    assert all((Path("here") / name).is_file() for name in first["files"])
    assert told["coverage"]["rows_fired"] > 10
    assert told["made"]["machine"]["cores"]
    assert len(told["made"]["commit"].rstrip("+")) == 40
    assert json.loads(Path("here/ledger.json").read_text()) == told


@pytest.mark.slow
def test_it_goes_on_after_a_violation_when_asked(capsys: Shown) -> None:
    words = ["--schedules", "100", "--mode", "eager", "--shrink", "0", *TOY]
    assert facts(words, capsys, code=1)["runs"] < 100
    told = facts([*words, "--keep-going"], capsys, code=1)
    assert told["runs"] == 100
    assert len(told["violations"]) > 2
    assert all(each["files"] for each in told["violations"])


@pytest.mark.slow
def test_of_many_failures_the_first_are_told_and_all_are_saved(capsys: Shown) -> None:
    words = ["--schedules", "240", "--mode", "eager", "--shrink", "0", "--keep-going", *TOY]
    simulated(words, code=1)
    out = capsys.readouterr().out
    count = len(list(Path("simulation").glob("*.json")))
    assert count > 12
    assert out.count("t0-0 has two owners") == 12
    assert f"and {count - 12} more in simulation" in out


@pytest.mark.slow
def test_a_run_that_raises_is_saved_with_where_it_raised(capsys: Shown) -> None:
    simulated(["--schedules", "10", "--seed", "1", *BADLY], code=1)
    assert "seed 3: LookupError: seed 3 is too much" in capsys.readouterr().out
    assert Schedule.load(Path("simulation/raised-a-mixed-3.json")).seed == 3
    assert "Traceback" in Path("simulation/raised-a-mixed-3.txt").read_text()


@pytest.mark.slow
def test_a_run_that_is_not_the_same_again_is_told_and_the_exit_code_is_one(capsys: Shown) -> None:
    simulated(["--schedules", "1", *BADLY], code=1)
    assert "not the same when it was played again: level A, mixed, seed 0" in (
        capsys.readouterr().out
    )


# -- one schedule --------------------------------------------------------------------------------


def test_a_saved_schedule_is_played_and_drawn(capsys: Shown) -> None:
    breaking().save(Path("it.json"))
    simulated(["--replay", "it.json", *TOY], code=1)
    out = capsys.readouterr().out
    assert ">>>   5.500" in out
    assert "broken: S2" in out


def test_a_saved_schedule_that_is_good_ends_well(capsys: Shown) -> None:
    breaking().save(Path("it.json"))
    simulated(["--replay", "it.json", *WELL])
    assert "nothing is broken" in capsys.readouterr().out


def test_a_replay_for_programs_names_rules_and_digest(capsys: Shown) -> None:
    breaking().save(Path("it.json"))
    told = facts(["--replay", "it.json", *TOY], capsys, code=1)
    assert told["rules"] == ["S2"]
    assert told["schedule"]["picks"]
    assert len(told["digest"]) == 16


@pytest.mark.slow
def test_the_real_world_is_played(capsys: Shown) -> None:
    Schedule(Level.A, Mode.EAGER, picks=()).save(Path("it.json"))
    simulated(["--replay", "it.json"])
    out = capsys.readouterr().out
    assert "m0 JoinGroup" in out
    assert "nothing is broken" in out


# -- wrong uses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--level", "D"],
        ["--mode", "lazy"],
        ["--backend", "twisted"],
        ["--schedules", "0"],
        ["--processes", "0"],
        ["--replay", "no-such.json"],
        ["--world", "nothing", "--schedules", "1"],
    ],
)
def test_a_wrong_use_is_told_before_anything_is_played(words: list[str], capsys: Shown) -> None:
    assert run(words) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err


def test_a_file_that_is_no_schedule_is_refused(capsys: Shown) -> None:
    Path("it.json").write_text("[1]")
    simulated(["--replay", "it.json"], code=2)
    assert "a schedule as `make search ARGS=simulate` saves it" in capsys.readouterr().err
