"""Sittings of a campaign follow each other, add up, and end when they are asked to."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.search.campaign.__main__ import main
from tests.search.campaign.groups import kind_of, sit_with_groups
from tests.search.campaign.inputs import Piece, judge, pieces
from tests.search.campaign.ledger import Ledger, Sitting
from tests.search.campaign.sums import lines, rare_cells, sums
from tests.search.simulation import toy
from tests.search.simulation.campaign import Campaign
from tests.search.simulation.outcome import Outcome
from tests.search.simulation.schedule import Level, Schedule

TOY = f"{toy.__name__}:play"
MADE = {"commit": "0123456789", "at": "2026-11-22T00:00:00+00:00", "seconds": 2.0}


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "results" / "campaign.json")


def sitting(kind: str, first: int, count: int, **more: object) -> Sitting:
    return {"kind": kind, "first": first, "count": count, **MADE, **more}


def test_the_next_sitting_begins_behind_the_last_of_its_kind(ledger: Ledger) -> None:
    assert ledger.next_of("T2") == 0
    ledger.put(sitting("T2", 0, 500))
    ledger.put(sitting("T1", 0, 7))
    ledger.put(sitting("T2", 500, 20))
    assert ledger.next_of("T2") == 520


def test_what_is_written_again_of_a_sitting_takes_the_place_of_what_was(ledger: Ledger) -> None:
    ledger.put(sitting("T2", 0, 500))
    ledger.put(sitting("T2", 0, 900))
    assert [each["count"] for each in ledger.sittings()] == [900]


def test_sums_are_over_all_sittings_of_a_kind(ledger: Ledger) -> None:
    ledger.put(sitting("A mixed", 0, 100, broken={"S2": 1}, not_the_same=[4]))
    ledger.put(sitting("A mixed", 100, 50, broken={"S2": 2}, commit="abcdef0123+"))
    ledger.put(sitting("T2", 0, 10, findings={}))
    groups, inputs = sums(ledger)
    assert (groups.count, groups.sittings, groups.per_second) == (150, 2, 37.5)
    assert groups.broken == {"S2": 3, "not the same": 1}
    assert groups.commits == ("0123456", "abcdef0+")
    assert (inputs.kind, inputs.count, inputs.broken) == ("T2", 10, {})


def test_cells_that_were_met_add_up(ledger: Ledger) -> None:
    ledger.put(sitting("A mixed", 0, 1, cells={"STABLE+POLLED": 6, "DORMANT+POLLED": 1}))
    before = rare_cells(ledger, "A")
    ledger.put(sitting("A mixed", 1, 1, cells={"STABLE+POLLED": 6}))
    ledger.put(sitting("A' mixed", 0, 1, cells={"STABLE+POLLED": 100}))
    after = rare_cells(ledger, "A")
    assert ledger.cells("A")["STABLE+POLLED"] == 12
    assert before.keys() - after.keys() <= {"STABLE+POLLED"}
    assert any("less than 10 times at A" in line for line in lines(ledger))


def test_cells_of_a_sitting_that_is_written_down_twice_count_once(ledger: Ledger) -> None:
    """1. Two people begin at one seed at once; 2. the second row takes the place of the first."""
    for _ in range(2):
        ledger.put(sitting("A hostile", 0, 500, cells={"FINDING+FENCED": 17}))
    assert ledger.cells("A") == {"FINDING+FENCED": 17}


def test_every_legal_cell_was_met_ten_times_by_what_is_committed() -> None:
    """Sums of sittings before `36067ba` counted some twice: they stand for the least that they
    can mean."""
    assert rare_cells(Ledger(), "A") == {}


@pytest.mark.slow
def test_two_sittings_with_groups_are_as_long_as_both_and_keep_what_fails(
    ledger: Ledger, tmp_path: Path
) -> None:
    said: list[str] = []
    for first in (0, 60):
        campaign = Campaign(schedules=60, seed=first, processes=0, most_failures=None, world=TOY)
        assert ledger.next_of(kind_of(campaign)) == first
        sit_with_groups(campaign, ledger, tmp_path / "failing", said.append)
    (both,) = sums(ledger)
    assert (both.kind, both.count, both.sittings) == ("A mixed", 120, 2)
    failed = [each for one in ledger.sittings() for each in one["failures"]]
    assert len({seed for seed, *_ in failed}) == len(list((tmp_path / "failing").iterdir()))
    assert len(said) == 2
    for one in ledger.sittings():
        assert one["cells"]
        for rule, (seed, picks) in one["picks"].items():
            kept = {"level": "A", "mode": "mixed", "seed": seed, "backend": "asyncio"}
            schedule = Schedule.from_json({**kept, "picks": json.loads(picks)})
            assert rule in toy.play(schedule).rules


def test_a_kind_has_a_backend_only_where_there_is_one() -> None:
    assert kind_of(Campaign(schedules=1, backend="trio")) == "A mixed"
    assert kind_of(Campaign(schedules=1, level=Level.B, backend="trio")) == "B mixed trio"


def test_pieces_are_the_whole_range_and_none_has_two_seeds() -> None:
    whole = [*pieces("T9", 95_000, 130_000)]
    assert sum(piece.count for piece in whole) == 130_000
    assert whole[0] == Piece("T9", 1, 95_000, 5_000)
    assert whole[1] == Piece("T9", 2, 0, 20_000)
    assert whole[-1] == Piece("T9", 3, 20_000, 5_000)
    assert all(piece.start + piece.count <= 100_000 for piece in whole)


def test_the_corpus_itself_is_judged_with_the_first_seed_only() -> None:
    first, second = (judge(Piece("T6", seed, 0, 200)) for seed in (1, 2))
    assert first.inputs == second.inputs == 200
    assert first.accepted > second.accepted


@pytest.mark.slow
def test_inputs_go_on_where_they_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "campaign.json"
    for _ in range(2):
        assert main(["T6", "--count", "300", "--processes", "1", "--ledger", str(path)]) == 0
    rows = [(row["first"], row["count"], row["findings"]) for row in Ledger(path).sittings("T6")]
    assert rows == [(0, 300, {}), (300, 300, {})]
    assert main(["--ledger", str(path)]) == 0
    assert "T6: 600 in 2 sitting(s)" in capsys.readouterr().out


def test_an_interrupt_ends_a_sitting_with_groups_with_what_was_done(
    ledger: Ledger, tmp_path: Path
) -> None:
    world = f"{__name__}:{until_seed_90.__name__}"
    campaign = Campaign(schedules=400, processes=0, most_failures=None, world=world)
    assert sit_with_groups(campaign, ledger, tmp_path, str).interrupted
    (row,) = ledger.sittings()
    assert (row["first"], row["count"]) == (0, 80)  # two chunks


def until_seed_90(schedule: Schedule, **how: Any) -> Outcome:
    if schedule.seed == 90:
        raise KeyboardInterrupt
    return toy.play(schedule, **how)


@pytest.mark.slow
def test_ctrl_c_ends_a_sitting_with_inputs_with_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "campaign.json"
    words = ("T6", "--count", "100000000", "--processes", "1", "--ledger", path)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.search.campaign", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            assert started.stderr is not None
            first = started.stderr.readline()
            started.send_signal(signal.SIGINT)
            _, rest = started.communicate(timeout=60)
        finally:  # who judges would outlive the one who asks
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
    assert "100,000 of 100,000,000 inputs" in first
    assert "Traceback" not in rest
    (row,) = json.loads(path.read_text(encoding="utf-8"))["sittings"]
    assert row["count"] >= 100_000
    assert not path.with_suffix(".new").exists()
