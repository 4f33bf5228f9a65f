"""The benchmark of Marshal mode measures what it says, and refuses wrong results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.marshal.claims import summary
from benchmarks.marshal.fold import READERS, Laid, checked, fold_rates
from benchmarks.marshal.logs import KEYS, cut, made
from benchmarks.marshal.report import GOALS, goals
from benchmarks.marshal.start_up import in_process, start_ups

ROOT = Path(__file__).parents[2]
FEW = 3 * KEYS


def test_all_ways_of_reading_see_what_the_log_was_written_to_make():
    checked(Laid(made(FEW, headers=True)))
    checked(Laid(made(FEW, headers=False)))


def test_a_reader_that_passes_over_a_batch_is_refused(monkeypatch):
    def forgetful(laid):
        return READERS["pure"](Laid(laid.log._replace(rows=laid.log.rows[:-100])))

    monkeypatch.setitem(READERS, "batches", forgetful)
    with pytest.raises(SystemExit, match="do not agree"):
        checked(Laid(made(FEW, headers=True)))


def test_a_world_that_is_not_that_of_the_log_is_refused():
    log = made(FEW, headers=True)
    key = min(log.owners)
    with pytest.raises(SystemExit, match="is at"):
        checked(Laid(log._replace(owners=log.owners | {key: (b"somebody else", 7)})))


def test_a_log_is_the_same_each_time_it_is_made():
    assert made(FEW, headers=True) == made(FEW, headers=True)


def test_pieces_are_the_whole():
    rows = made(1_050, headers=False).rows
    pieces = cut(rows, 100)
    assert [len(piece) for piece in pieces] == [100] * 10 + [50]
    assert [row for piece in pieces for row in piece] == rows


@pytest.mark.slow
def test_every_way_of_folding_has_a_rate_for_each_round():
    found = fold_rates(FEW, 2)["kgroup"]
    assert {name: len(rates) for name, rates in found["samples"].items()} == dict.fromkeys(
        READERS, 2
    )
    assert 0 < found["bytes a key"] < 1_000


@pytest.mark.slow
def test_a_start_up_is_timed_with_and_without_a_window():
    log = made(FEW, headers=True)
    with in_process(log).serve() as served:
        found = start_ups(served.bootstrap, log, 1, "in process")
    assert found.keys() == {"window", "whole"}
    assert all(0 < each["seconds"] < 30 for each in found.values())


@pytest.mark.slow
def test_the_start_up_of_a_reader_that_finds_other_owners_is_not_kept():
    log = made(FEW, headers=True)
    key = min(log.owners)
    wrong = log._replace(owners=log.owners | {key: (b"somebody else", 7)})
    with in_process(log).serve() as served, pytest.raises(SystemExit, match="not where"):
        start_ups(served.bootstrap, wrong, 1, "in process")


def test_times_are_summed_up_by_median_and_tenths():
    found = summary([float(number) for number in range(101)])
    assert (found["p50 ms"], found["p90 ms"], found["most ms"]) == (50.0, 90.0, 100.0)
    assert len(found["samples"]) == 101


def test_a_goal_is_reached_missed_or_not_spoken_of():
    fold = {"kgroup": {"messages a second": {"pure": 300_000}, "bytes a key": 1_000}}
    found = goals({"fold": fold, "claim latency": {"p50 ms": 49.9}})
    assert {name: each["reached"] for name, each in found.items()} == {
        "messages folded a second": True,
        "bytes a key": False,
        "claim latency, ms": True,
    }
    assert GOALS["messages folded a second"] == "at least 300,000"


@pytest.mark.slow
def test_the_command_writes_what_it_measured():
    command = [sys.executable, "-m", "benchmarks.marshal", "--only", "fold", "--json"]
    command += ["--folded", str(FEW), "--rounds", "1"]
    answer = subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout
    document = json.loads(answer)
    assert document["fold"]["kgroup"]["samples"]["pure"]
    assert "claim latency" not in document
