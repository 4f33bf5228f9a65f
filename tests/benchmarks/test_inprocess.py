"""The benchmark of the in-process broker measures what it says, and refuses wrong results."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.inprocess.contest import Plan, entries_of_first, entries_of_forming, run_entry
from benchmarks.inprocess.forming import DELAYS, WAYS, form
from benchmarks.inprocess.group import MEMBERS, PARTITIONS, TOPIC, Watch
from benchmarks.inprocess.reading import CLIENTS, PER_BATCH, Seen, read_through
from benchmarks.inprocess.report import goals, summary
from kgroup.types import TopicPartition

ROOT = Path(__file__).parents[2]


def places(*numbers):
    return frozenset(TopicPartition(TOPIC, number) for number in numbers)


def test_a_group_is_complete_when_each_member_has_its_share_and_not_before():
    watch = Watch()
    watch.first_byte()
    for member in range(MEMBERS):
        assert not watch.complete.is_set()
        watch.share(member, places(2 * member, 2 * member + 1))
    assert watch.complete.is_set()
    real, cpu = watch.seconds()
    assert 0 <= cpu <= real + 0.1


def test_a_group_in_which_a_partition_has_two_owners_is_refused():
    watch = Watch()
    watch.first_byte()
    for member in range(MEMBERS):
        watch.share(member, places(0, 1))
    with pytest.raises(SystemExit, match="wrongly"):
        watch.seconds()


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("way", [pytest.param(way, marks=pytest.mark.slow) for way in WAYS])
def test_a_group_forms_in_every_way(way, delay):
    [(real, _)] = form(way, delay, 1)
    assert 0 < real < 30


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_reads_the_topic_to_its_end(client):
    assert read_through(CLIENTS[client], 8 * PER_BATCH) > 0


@pytest.mark.slow
def test_the_speed_of_a_client_that_misses_a_record_is_not_kept():
    def forgetful(bootstrap, expected):
        seen = CLIENTS["raw loop"](bootstrap, expected)
        return Seen(seen.records - 1, seen.offset_sum, seen.value_bytes)

    with pytest.raises(SystemExit, match="forgetful found"):
        read_through(forgetful, 8 * PER_BATCH)


@pytest.mark.slow
def test_the_first_record_is_timed_on_the_in_process_broker():
    [entry] = entries_of_first(Plan(times=1), [])
    [[seconds]] = run_entry(entry.question, entry.words)
    assert 0 < seconds < 30


def test_every_way_is_asked_with_and_without_a_delay():
    asked = {entry.words[:2] for entry in entries_of_forming(Plan())}
    assert asked == {(way, delay) for way in WAYS for delay in DELAYS}


def test_a_goal_that_is_missed_is_printed():
    forming = summary("forming", {"quick": [[0.004, 0.003]], "slow": [[0.009, 0.008]]}, 0)
    first = summary("first record", {"in process": [[0.02]], "Kafka": [[0.01], [0.05]]}, 0)
    reading = summary("reading", {"one": [[0.5], [2.0], [1.0]], "other": [[4.0]]}, 200_000)
    assert reading["one"]["records_per_s"] == 200_000
    found = goals({"forming": forming, "first record": first, "reading": reading})
    assert [goal["met"] for goal in found] == [True, False, True, True, False]


def test_the_kept_figures_are_those_of_their_samples():
    kept = json.loads((ROOT / "benchmarks/results/inprocess.json").read_text(encoding="utf-8"))
    samples: dict[str, dict[str, list[list[float]]]] = {}
    for row in kept["samples"]:
        samples.setdefault(row["question"], {})[row["name"]] = row["rows"]
    for question, found in samples.items():
        again = summary(question, found, kept["plan"]["records"])
        assert again.keys() == kept["figures"][question].keys()
        for name, figures in again.items():
            assert figures == pytest.approx(kept["figures"][question][name], rel=0.01)
    assert kept["goals"]
    assert len(samples["forming"]) == len(WAYS) * len(DELAYS)
    assert kept["scenario"]["partitions"] == PARTITIONS


@pytest.mark.slow
def test_the_contestants_take_turns_and_leave_their_figures(tmp_path):
    kept = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.inprocess", "--quick", "--json", str(kept)]
    command += ["--only", "first record"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    document = json.loads(kept.read_text(encoding="utf-8"))
    assert document["figures"]["first record"]["in process"]["median_ms"] > 0
    assert len(document["samples"]) == 1
