"""Scripts depend on their seed alone, keep away from timers; and what differs is found."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.codes import ErrorCode
from kgroup.wire.frames import encode_response
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
)
from tests.testing.differential.__main__ import main
from tests.testing.differential.explained import RULES, judge
from tests.testing.differential.generator import MARGIN, generate, margin_of
from tests.testing.differential.judging import LATE, Difference
from tests.testing.differential.planning import SETTINGS
from tests.testing.differential.replay import play
from tests.testing.differential.report import LEDGER, describe
from tests.testing.differential.script import Join, from_json, to_json
from tests.testing.differential.trace import (
    RECEIVED,
    Event,
    Exchange,
    Trace,
    exchanges,
    from_document,
    load_traces,
    to_document,
)

SAVED = Path(__file__).parent / "saved" / "4.3.1.jsonl.gz"
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A saved trace in which a member heartbeats while it lives."""
    return next(each for each in load_traces(SAVED) if beat(each) is not None)


def the_difference(trace: Trace) -> Difference | None:
    return judge(play(trace)).difference


def beat(trace: Trace) -> Exchange | None:
    found = (e for e in exchanges(trace) if isinstance(e.request, HeartbeatRequest))
    return next((e for e in found if getattr(e.answer, "error_code", 1) == 0), None)


def changed(trace: Trace, change: Callable[[Event], Event | None]) -> Trace:
    """Return the trace with the answer of that heartbeat changed; None takes it out."""
    wanted = beat(trace)
    assert wanted is not None
    events = [
        change(event) if event.kind == RECEIVED and event.frame == wanted.answer_frame else event
        for event in trace.events
    ]
    return replace(trace, events=tuple(event for event in events if event is not None))


def test_the_same_seed_gives_the_same_script() -> None:
    for seed in SEEDS:
        assert generate(seed, SETTINGS[0], "4.3.1") == generate(seed, SETTINGS[0], "4.3.1")


def test_another_seed_gives_another_script() -> None:
    assert len({generate(seed, SETTINGS[0], "4.3.1").steps for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_step_keeps_away_from_the_edges_of_timers(setting) -> None:
    for seed in SEEDS:
        script = generate(seed, setting, "3.9.1")
        assert margin_of(script, "3.9.1") > MARGIN - 0.001


def test_a_step_moved_to_an_edge_is_noticed() -> None:
    script = generate(1, SETTINGS[0], "4.3.1")
    joins = (n for n, s in enumerate(script.steps) if isinstance(s.ask, Join) and s.ask.version < 4)
    first = next(joins, 0)
    ask = script.steps[first].ask
    assert isinstance(ask, Join)
    lone = replace(script.steps[first], ask=replace(ask, version=3, instance=None, member=""))
    late = replace(lone, at=lone.at + ask.rebalance - 0.05, actor="Z")
    assert margin_of(replace(script, steps=(lone, late)), "4.3.1") < 0.1


def test_a_script_survives_its_file() -> None:
    for seed in SEEDS:
        script = generate(seed, SETTINGS[1], "4.3.1")
        assert from_json(json.loads(json.dumps(to_json(script)))) == script


def test_a_trace_survives_its_file(trace) -> None:
    assert from_document(json.loads(json.dumps(to_document(trace)))) == trace


def test_an_answer_that_is_as_it_was_is_no_difference(trace) -> None:
    assert the_difference(trace) is None


def test_one_other_error_code_is_a_difference(trace) -> None:
    wanted = beat(trace)
    assert wanted is not None
    header, code = wanted.header, ErrorCode.REBALANCE_IN_PROGRESS
    other = encode_response(
        HeartbeatResponse(error_code=code),
        header.api_key,
        header.api_version,
        header.correlation_id,
    )[4:]

    def refuse(event: Event) -> Event:
        return replace(event, frame=other)

    found = the_difference(changed(trace, refuse))
    assert found is not None
    assert (found.what, type(found.turn.real.request)) == ("content", HeartbeatRequest)
    assert found.turn.real.answer_frame.hex() in describe(found)


def test_an_answer_that_only_the_core_gives_is_a_difference(trace) -> None:
    found = the_difference(changed(trace, lambda _: None))
    assert found is not None
    assert found.what == "answered"


def test_an_answer_at_another_instant_is_a_difference(trace) -> None:
    found = the_difference(changed(trace, lambda event: replace(event, at=event.at + 2 * LATE)))
    assert found is not None
    assert found.what == "early"


def test_the_ids_of_the_real_broker_are_lent_to_the_core(trace) -> None:
    ids = [
        (turn.real.answer.member_id, turn.answer.member_id)
        for turn in play(trace).turns
        if isinstance(turn.real.answer, JoinGroupResponse)
        and isinstance(turn.answer, JoinGroupResponse)
    ]
    assert any(real for real, _ in ids)
    assert all(real == core for real, core in ids)


def test_a_group_is_described_after_every_step(trace) -> None:
    described = [e for e in exchanges(trace) if isinstance(e.request, DescribeGroupsRequest)]
    assert len(described) >= len(trace.script.steps)


def test_every_explained_difference_has_the_frames_that_show_it() -> None:
    for rule in RULES:
        path = Path(__file__).parent / "explained" / f"{rule.name}.json"
        shown = from_document(json.loads(path.read_text(encoding="utf-8")))
        verdict = judge(play(shown))
        assert (set(verdict.explained), verdict.difference) == ({rule}, None)
        assert judge(play(shown), ()).difference is not None


def test_no_difference_is_explained_in_a_trace_that_has_none(trace) -> None:
    assert judge(play(trace)).explained == ()


def test_a_run_that_compares_nothing_fails() -> None:
    assert main(["--scripts", "0", "--version", "4.3.1"]) == 1


def test_the_ledger_has_a_thousand_scripts_of_each_version_and_nothing_unexplained() -> None:
    ledger = json.loads(LEDGER.read_text(encoding="utf-8"))
    assert list(ledger) == ["3.9.1", "4.3.1"]
    for version, figures in ledger.items():
        assert figures["scripts"] >= 1000, version
        assert figures["differences"] == 0, version
        assert figures["given up"] == 0, version
        assert figures["requests"] >= 10 * figures["scripts"], version
        assert set(figures["explained"]) <= {rule.name for rule in RULES}, version
