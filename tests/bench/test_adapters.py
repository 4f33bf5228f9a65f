"""An adapter is believed only what it proves, and none of its processes stays."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from kgroup.bench.adapters import BUILT_IN, Adapters, read_own
from kgroup.bench.cells import Cell, GroupPlan, Plan
from kgroup.bench.contest import Contest, Entry, Means
from kgroup.bench.figures import of_sample
from kgroup.bench.leaving import beyond
from kgroup.bench.processes import Talk, work
from kgroup.errors import ArgumentError
from kgroup.testing import InProcessBroker

TINY = GroupPlan(
    members=1, partitions=2, rate=40, batch=1, before=0.5, after=0.3, session_timeout=6.0
)
PLAN = Plan(runs=1, records=80, limit_s=60.0, group=TINY)


def silent(_line):
    """Take progress and show none."""


def command(which):
    return [sys.executable, "-m", "tests.bench.liars", which]


def measured(cell, adapters=None, plan=PLAN):
    """Measure one cell on an in-process broker; a liar is an adapter by its name."""
    entry = Entry(cell)
    adapters = adapters or Adapters({cell.client: command(cell.client)})
    with InProcessBroker().serve() as broker:
        Contest(broker.bootstrap, plan, silent, Means(adapters=adapters)).run([entry])
    return entry


# -- liars ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_member_that_loses_a_record_is_wrong_and_has_no_figures():
    entry = measured(Cell("latency", "forgetful"))
    assert (entry.status, entry.samples) == ("wrong", [])
    assert entry.reason == "1 records of partition 0 were never delivered"


@pytest.mark.slow
def test_a_member_that_repeats_is_measured_and_shown_with_it():
    entry = measured(Cell("latency", "repeating"))
    assert (entry.status, entry.reason) == ("measured", "")
    [sample] = entry.samples
    assert (sample["repeated"], sample["uncommitted"]) == (sample["records"], 0)
    assert of_sample("latency", sample, {})["repeated"] == sample["records"]


@pytest.mark.slow
def test_a_reader_that_loses_a_record_is_told_how_many_it_has_read():
    entry = measured(Cell("read", "leaky"), plan=replace(PLAN, limit_s=10.0))
    assert (entry.status, entry.samples) == ("wrong", [])
    assert entry.reason.startswith("records is 79, not 80")


@pytest.mark.slow
def test_a_member_that_does_not_wait_for_its_go_has_failed():
    entry = measured(Cell("join", "eager", "range"))
    assert (entry.status, entry.reason) == ("failed", "m1 did not wait for its go")


def test_more_committed_than_there_is_is_a_fault():
    assert beyond({0: 3, 1: 5}, {0: 3, 1: 4}) == "offset 5 of partition 1 is committed; it has 4"
    assert not beyond({0: 3, 1: 0}, {0: 3, 1: 4})


def test_a_reader_that_says_it_read_what_it_did_not_is_wrong_by_its_proof():
    entry = measured(Cell("read", "boastful"))
    assert (entry.status, entry.samples) == ("wrong", [])
    assert "crc_sum is 1, not" in entry.reason


def test_a_result_that_lacks_what_figures_are_made_of_has_failed():
    entry = measured(Cell("read", "hasty"))
    assert entry.status == "failed"
    assert "cannot be used" in entry.reason


@pytest.mark.slow
def test_a_member_whose_lines_are_none_of_the_protocol_has_failed_and_is_quoted():
    entry = measured(Cell("latency", "confused"))
    assert entry.status == "failed"
    assert "everything" in entry.reason


def test_an_adapter_that_does_not_end_is_ended_and_says_so():
    answer = work(command("deaf"), {}, 0.5, {})
    assert (answer.status, answer.reason) == ("failed", "took more than 0 s")


def test_an_adapter_that_speaks_no_json_is_ended_and_quoted():
    answer = work(command("silent"), {}, 60.0, {})
    assert (answer.status, answer.reason) == (
        "failed", "said 'no JSON at all', which is no JSON object"
    )  # fmt: skip


def test_an_adapter_that_is_no_program_is_absent():
    adapters = Adapters({"missing": ["/nowhere/client"]})
    for cell in (Cell("read", "missing"), Cell("latency", "missing")):
        entry = measured(cell, adapters=adapters)
        assert (entry.status, entry.reason) == (
            "absent",
            "/nowhere/client: No such file or directory",
        )


def test_a_broker_that_is_somebody_elses_is_not_killed():
    entry = measured(Cell("failover", "kgroup", "range", "asyncio"), Adapters())
    assert (entry.status, entry.reason) == (
        "absent", "it takes three brokers of this machine: --brokers 3"
    )  # fmt: skip


@pytest.mark.slow
def test_an_honest_member_delivers_every_record_and_its_latency_is_measured():
    entry = measured(Cell("latency", "kgroup", "range", "asyncio"), Adapters())
    assert (entry.status, entry.reason) == ("measured", "")
    [sample] = entry.samples
    assert (sample["lost"], sample["repeated"]) == (0, 0)
    assert sample["counted"] > 0


# -- processes -----------------------------------------------------------------------------


def test_a_process_ends_when_its_standard_input_does():
    # Without that it would look for a broker for some seconds, and end with a line and code 0.
    job = {
        "job": "follow", "level": "range", "instance": None, "bootstrap": "127.0.0.1:1",
        "topic": "t", "group": "g", "session_timeout_s": 6.0, "heartbeat_interval_s": 1.0,
        "auto_commit_s": 1.0, "slow_revoke_s": 0.0, "protocol": "classic",
    }  # fmt: skip
    done = subprocess.run(
        command("forgetful"), input=json.dumps(job) + "\n", capture_output=True, text=True,
        timeout=60.0, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr


def test_a_command_of_ones_own_is_started_where_one_is(tmp_path, monkeypatch):
    script = tmp_path / "mine"
    script.write_text('#!/bin/sh\necho "{\\"absent\\": \\"$PYTHONPATH\\"}"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "as it was")
    answer = work(["./mine"], {}, 60.0, {})
    assert (answer.status, answer.reason) == ("absent", "as it was")


def test_a_process_that_is_closed_is_gone():
    talk = Talk(["sleep", "60"], {})
    talk.close()
    assert talk.over
    talk.close()


def test_a_client_that_lacks_a_job_is_absent_not_wrong():
    answer = work([sys.executable, "-m", "kgroup.bench.clients", "kgroup"],
                  {"job": "dance", "loop": "asyncio"}, 60.0, {})  # fmt: skip
    assert (answer.status, answer.reason) == ("absent", "it has no job dance")


# -- which there are -----------------------------------------------------------------------


def test_an_adapter_of_ones_own_is_a_name_and_a_command():
    assert read_own(["mine=node 'my adapter.js'"]) == {"mine": ["node", "my adapter.js"]}


@pytest.mark.parametrize("text", ["mine", "=node x", "mine=", f"{BUILT_IN[0]}=node x"])
def test_what_is_no_name_and_command_is_refused(text):
    with pytest.raises(ArgumentError, match="NAME=COMMAND"):
        read_own([text])


def test_a_name_that_no_adapter_has_is_refused_with_those_there_are():
    with pytest.raises(ArgumentError, match="aiokafka"):
        Adapters().check(["aiokaffka"])
