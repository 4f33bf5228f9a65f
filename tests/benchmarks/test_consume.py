"""The benchmark of consuming measures what it says, and has no figure for what is wrong."""

import json
import re
import sys
from zlib import crc32

import pytest

from benchmarks.consume.goals import GOALS, verdicts
from benchmarks.consume.page import PAGE, RESULT, committed_page, page
from benchmarks.consume.scenarios import DATA, PEERS, cells
from kgroup.bench.cells import PLAIN, Cell, Plan
from kgroup.bench.clients.tally import Tally
from kgroup.bench.contest import Contest, Entry, Means, import_shares
from kgroup.bench.figures import of_sample, summary
from kgroup.bench.filling import Topic, rounded
from kgroup.bench.judging import wrong
from kgroup.bench.processes import Answer, java_command, work
from kgroup.bench.result import build, refigured, written
from kgroup.bench.tables import rows
from kgroup.testing import InProcessBroker

RECORDS = Cell("read", "kgroup", "records", "asyncio")
VALUES = Cell("read", "kgroup", "values", "asyncio")
SMALL = Plan(runs=2, records=80, commits=3)
BUSY = """
from kgroup.bench.clients.serving import serve

class Busy:
    packages = ()

    def read(self, job, run):
        from kgroup.net.ports import os_reason
        error = OSError("busy")
        for _ in range(200_000):
            os_reason(error)

serve(lambda job: Busy())
"""
EXPECTED = {"records": 4, "offset_sum": 6, "value_bytes": 8, "crc_sum": 99}


def silent(_line):
    """Take progress and show none."""


def seen(topic):
    """What a complete reader finds, without its proof."""
    return {**topic.expected(), "crc_sum": None}


def sample(found, *, cpu=(0.1, 0.5), process=0.6, passes=1):
    """An answer of a client that reads as often as is wanted, a second each time."""
    one = [
        {
            "began": {"at": 10.0 + number, "cpu_s": cpu[0] + number},
            "first_at": 10.5 + number,
            "first_records": 1,
            "ended": {"at": 11.0 + number, "cpu_s": cpu[1] + number},
            "seen": dict(found),
        }
        for number in range(passes)
    ]
    result = {"passes": one, "rss_bytes": 50_000_000, "compiled": None, "versions": {"x": "1"}}
    return {"load": 0.1, "spawned_at": 9.0, "process_cpu_s": process, "result": result}


class Clients:
    """Stands in for the processes: answers for each level with what it was given.

    Args:
        answers: level -> what to answer, made from the job.
    """

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def __call__(self, command, job, limit, environ):
        self.asked.append((job["level"], job["proof"]))
        return self.answers[job["level"]](job)


def right(job):
    topic = Topic(job["topic"], PLAIN, job["records"], 8, SMALL.seed)
    found = topic.expected() if job["proof"] else seen(topic)
    return Answer("result", sample=sample(found))


def one_less(job):
    answer = right(job)
    answer.sample["result"]["passes"][0]["seen"]["records"] -= 1
    return answer


def contested(*wanted, **answers):
    clients = Clients(answers)
    return clients, measured(wanted, SMALL, Means(process=clients))


def measured(wanted, plan, means=None):
    """Measure cells on an in-process broker."""
    entries = [Entry(cell) for cell in wanted]
    with InProcessBroker().serve() as broker:
        Contest(broker.bootstrap, plan, silent, means).run(entries)
    return entries


# -- what was read -------------------------------------------------------------------------


def test_a_reader_that_finds_everything_has_no_fault():
    assert not wrong(EXPECTED, EXPECTED, proof=True)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sum_that_differs_is_a_fault(name):
    assert name in wrong({**EXPECTED, name: 1}, EXPECTED, proof=False)


@pytest.mark.parametrize("name", ["value_bytes", "crc_sum"])
def test_what_a_timed_run_does_not_touch_is_no_fault_but_its_proof_touches_all(name):
    found = {**EXPECTED, name: None}
    assert not wrong(found, EXPECTED, proof=False)
    assert name in wrong(found, EXPECTED, proof=True)


@pytest.mark.parametrize("name", ["records", "offset_sum"])
def test_every_run_counts_records_and_offsets(name):
    assert name in wrong({**EXPECTED, name: None}, EXPECTED, proof=False)


def test_all_ways_to_add_up_find_the_same():
    class Record:
        def __init__(self, offset):
            self.offset, self.value = offset, bytes([offset]) * 10

    records = [Record(offset) for offset in range(3, 8)]
    values = [record.value for record in records]
    one, other = Tally(proof=True), Tally(proof=True)
    one.add_records(records)
    other.add_values(3, 8, values)
    assert one.seen() == other.seen()
    assert one.seen()["crc_sum"] == sum(map(crc32, values))


def test_records_that_are_not_looked_at_are_counted_and_have_no_bytes():
    tally = Tally(proof=False)
    tally.add_untouched(3, 8, 5)
    expected = {"records": 5, "offset_sum": 25, "value_bytes": None, "crc_sum": None}
    assert tally.seen() == expected


def test_a_gap_between_offsets_is_not_counted_over():
    with pytest.raises(ValueError, match="4 records"):
        Tally(proof=False).add_untouched(3, 8, 4)


# -- the rounds ----------------------------------------------------------------------------


def test_clients_take_turns_and_the_first_round_proves():
    clients, entries = contested(RECORDS, VALUES, records=right, values=right)
    turn = ["records", "values"]
    assert clients.asked == [(level, not number) for number in range(3) for level in turn]
    assert [len(entry.samples) for entry in entries] == [2, 2]


def test_a_client_that_misses_a_record_is_wrong_has_no_samples_and_is_not_asked_again():
    clients, [entry, other] = contested(RECORDS, VALUES, records=one_less, values=right)
    assert (entry.status, entry.samples) == ("wrong", [])
    assert "records is 79, not 80" in entry.reason
    assert (other.status, len(other.samples)) == ("measured", 2)
    assert [level for level, _ in clients.asked].count("records") == 1


def test_a_client_that_is_absent_says_why_and_is_no_zero():
    _, [entry] = contested(RECORDS, records=lambda job: Answer("absent", "no JDK"))
    document = build(SMALL, "Kafka", [entry])
    [row] = rows(document["cells"])
    assert row[:3] == ["kgroup records", "80", "absent: no JDK"]
    assert document["cells"][0]["figures"] == {}


def test_a_pure_cell_is_wrong_when_the_compiled_module_is_in_use():
    def compiled(job):
        answer = right(job)
        answer.sample["result"]["compiled"] = True
        return answer

    _, [entry] = contested(
        Cell("read", "kgroup", "records", "asyncio", pure=True), records=compiled
    )
    assert entry.status == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        Cell("read", client, level, loop)
        for client, level, loop in (
            ("kgroup", "columns", "asyncio"),
            ("kgroup", "values", "trio"),
            ("kgroup", "records", "asyncio"),
            ("kgroup", "getmany", "asyncio"),
            ("kgroup", "async for", "asyncio"),
            ("drop-in aiokafka", "getmany", "asyncio"),
            ("drop-in aiokafka", "async for", "asyncio"),
            ("drop-in kafka-python", "poll", ""),
            ("drop-in kafka-python", "iterate", ""),
            ("aiokafka", "getmany", "asyncio"),
            ("confluent", "consume", ""),
        )
    ],
    ids=lambda cell: cell.who,
)
def test_a_process_of_each_client_reads_all_there_is(cell):
    [entry] = measured([cell], Plan(runs=1, records=80))
    assert (entry.status, entry.reason) == ("measured", "")
    [found] = entry.samples
    assert found["result"]["versions"]
    assert of_sample("read", found, {"value_bytes": 100})["cpu_us_whole"] > 0


@pytest.mark.slow
def test_commits_and_the_first_record_are_measured():
    small = Plan(runs=1, commits=3)
    wanted = [
        Cell("commit", "kgroup", "", "asyncio"),
        Cell("start", "kgroup", "async for", "asyncio"),
    ]
    entries = measured(wanted, small)
    assert [(entry.status, len(entry.samples)) for entry in entries] == [("measured", 1)] * 2


@pytest.mark.slow
def test_java_reads_all_there_is_or_says_why_it_cannot():
    command = java_command()
    [entry] = measured([Cell("read", "java", "poll")], Plan(runs=1, records=80))
    expected = ("absent", command) if isinstance(command, str) else ("measured", "")
    assert (entry.status, entry.reason) == expected


@pytest.mark.slow
def test_a_profile_of_a_client_names_no_folder_of_this_machine():
    with InProcessBroker().serve() as broker:
        contest = Contest(broker.bootstrap, Plan(runs=0, records=80), silent)
        contest.run([Entry(RECORDS)])
        found = contest.profile(RECORDS)
    assert isinstance(found, list)
    assert found
    assert not any(row["function"].startswith("/") for row in found)


def test_a_profile_names_the_function_of_ours_that_takes_the_time():
    # Of 80 records a profile shows imports; so this client does one thing, 200,000 times.
    job = {"job": "read", "profile": True, "passes": 1, "group": "g", "proof": False}
    answer = work([sys.executable, "-c", BUSY], job, 60.0, {})
    named = [row["function"] for row in answer.sample["result"]["profile"]]
    assert any(re.fullmatch(r"kgroup/net/ports\.py:\d+ os_reason", each) for each in named)


def test_a_process_that_takes_too_long_is_ended_and_says_so():
    answer = work(["sleep", "60"], {}, 0.2, {})
    assert (answer.status, answer.reason) == ("failed", "took more than 0 s")


def test_a_process_that_ends_without_a_result_has_failed():
    answer = work(["false"], {}, 10.0, {})
    assert (answer.status, answer.reason) == ("failed", "ended with 1")


# -- scenarios -----------------------------------------------------------------------------


def test_no_two_cells_have_one_name():
    names = [cell.name for cell in cells(PEERS, extras=True)]
    assert len(names) == len(set(names))


def test_every_goal_is_about_a_cell_that_is_measured_and_so_is_what_it_is_compared_with():
    names = {cell.name for cell in cells(PEERS, extras=True)}
    assert {name for goal in GOALS for name in (goal.cell, *goal.peers)} <= names


def test_without_peers_only_our_own_are_measured():
    assert {cell.client for cell in cells([], extras=True)}.isdisjoint(PEERS)


@pytest.mark.parametrize("data", DATA, ids=lambda data: data.name)
def test_a_topic_has_the_records_that_are_expected_of_it(data):
    topic = Topic("t", data, rounded(4000), 8, 1)
    expected = topic.expected()
    assert expected["value_bytes"] == 4000 * data.value_bytes
    assert expected["offset_sum"] == 8 * sum(range(500))


# -- figures -------------------------------------------------------------------------------


def test_the_cpu_of_a_record_is_reported_with_and_without_start_up():
    found = of_sample("read", sample({"records": 100}), {"value_bytes": 10})
    assert found["cpu_us"] == pytest.approx(4000)
    assert found["cpu_us_whole"] == pytest.approx(6000)


def test_speed_is_that_of_what_came_after_the_first_records():
    found = of_sample("read", sample({"records": 100}), {"value_bytes": 10})
    assert found["records_per_s"] == pytest.approx(99 / 0.5)
    assert found["mb_per_s"] == pytest.approx(99 / 0.5 / 1e5)


def test_of_two_readings_the_first_is_the_whole_process_and_the_second_the_rest():
    twice = sample({"records": 100}, cpu=(0.2, 0.5), process=1.6, passes=2)
    found = of_sample("read", twice, {"value_bytes": 10})
    assert found["cpu_us"] == pytest.approx(3000)
    assert found["cpu_us_whole"] == pytest.approx(6000)


def test_a_summary_has_the_median_and_the_spread():
    samples = [{"result": {"import_s": seconds}} for seconds in (0.3, 0.1, 0.2)]
    found = summary("import", samples, {})
    assert found["import_s"] == {"median": 0.2, "low": 0.1, "high": 0.3}


def test_the_shares_of_imports_are_those_of_each_module_itself():
    printed = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:       300 |        300 |   inner\n"
        "import time:       700 |       1000 | outer\n"
    )
    found = [(row["function"], row["share"]) for row in import_shares(printed)]
    assert found == [("import outer", 0.7), ("import inner", 0.3)]


def test_instructions_are_those_of_the_records_that_came_on_top():
    counted = {"result": {"records": (10, 30), "instructions": (5000, 9000)}}
    assert of_sample("instructions", counted, {}) == {"instructions": 200}


def judged(whole):
    figures = {
        "cpu_us_whole": {"median": whole, "low": whole, "high": whole},
        "cpu_us": {"median": 0.1, "low": 0.1, "high": 0.1},
    }
    [goal] = [
        goal
        for goal in verdicts({"read: kgroup records: 100 B": {"figures": figures}})
        if goal["what"] == "records in a loop"
    ]
    return goal


def test_a_goal_is_judged_by_the_whole_process():
    assert judged(0.29)["reached"] is True
    assert judged(0.31)["reached"] is False
    assert judged(0.31)["after_start_up"] == 0.1


def test_a_goal_that_was_not_measured_is_not_reached():
    assert {goal["reached"] for goal in verdicts({})} == {None}


# -- the results ---------------------------------------------------------------------------


def test_the_page_tells_what_is_missed_where_the_time_goes_and_why():
    _, entries = contested(RECORDS, records=right)
    document = build(SMALL, "Kafka 4.3.1", entries)
    row = {"function": "scan", "calls": 3, "share": 0.25}
    document["goals"] = verdicts({cell["name"]: cell for cell in document["cells"]})
    document["profiles"] = {RECORDS.name: [row]}
    text = page(document, {RECORDS.name: "The scan is in Python."})
    assert "**kgroup records** (records in a loop; " in text
    assert "The scan is in Python." in text
    assert "| `scan` | 25% |" in text


def test_written_results_can_be_read_again():
    _, entries = contested(RECORDS, records=right)
    document = build(SMALL, "Kafka", entries)
    text = written(document)
    assert json.loads(text) == json.loads(json.dumps(document))
    assert f"   {json.dumps(entries[0].samples[0], separators=(',', ':'))}" in text


def test_there_is_a_page_where_there_are_results_and_it_says_what_they_say():
    assert PAGE.exists() == RESULT.exists()
    if RESULT.exists():
        assert PAGE.read_text(encoding="utf-8") == committed_page()


def test_committed_figures_and_goals_are_those_of_their_samples():
    kept = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"cells": []}
    for cell in kept["cells"]:
        assert cell["figures"] == refigured(cell, kept["plan"]["members"])
    if kept["cells"]:
        assert kept["goals"] == verdicts({cell["name"]: cell for cell in kept["cells"]})
