"""A run of the kit: what it takes, its progress, and what it returns."""

import subprocess
import sys
from threading import Lock

import pytest

from kgroup.assignors import BUILT_IN
from kgroup.assignors.conformance import PROMISES, Claims, Progress, Status, run
from kgroup.errors import ArgumentError, ConfigError, MissingExtraError
from tests.assignors.conformance.wrong import Decent, ForgetsTheLast


class NeedsAnArgument(Decent):
    def __init__(self, zones):
        self.zones = zones


class CannotBeCopied(Decent):
    def __init__(self):
        self.lock = Lock()


class Nameless(Decent):
    name = ""


def statuses(report):
    return {outcome.check: outcome.status for outcome in report.outcomes}


@pytest.fixture(scope="module")
def progress() -> list[Progress]:
    return []


@pytest.fixture(scope="module")
def report(progress):
    """What becomes of an assignor that breaks one promise."""
    return run(ForgetsTheLast, examples=60, on_progress=progress.append)


def test_every_promise_has_an_outcome_in_its_order(report):
    assert tuple(outcome.promise for outcome in report.outcomes) == PROMISES
    assert statuses(report)["handover"] is Status.NOT_BOUND
    assert report.examples == sum(outcome.examples for outcome in report.outcomes)


@pytest.mark.slow
def test_equal_seeds_find_equal_counterexamples_and_the_report_names_the_seed():
    first, second = (run(ForgetsTheLast, examples=60, seed=4) for _ in range(2))
    assert first == second
    assert first.broken
    assert "seed 4" in first.text()


def test_progress_ends_at_its_total_and_holds_each_outcome(progress, report):
    done = [now.done for now in progress if now.outcome is not None]
    assert done == sorted(done)
    assert done[-1] == progress[-1].total
    assert tuple(now.outcome for now in progress if now.outcome is not None) == report.outcomes


def test_a_broken_promise_is_explained_as_a_sentence_and_as_code(report):
    (outcome,) = report.broken
    text = report.explain(outcome)
    assert "breaks a promise: every partition is given or listed as withheld" in text
    assert "is neither given nor listed as withheld" in text
    assert "GroupSubscription(" in text


@pytest.mark.slow
@pytest.mark.parametrize("assignor", [Decent, Decent(), lambda: Decent()])
def test_a_class_an_instance_and_a_function_can_be_held_to_their_promises(assignor):
    assert run(assignor, examples=1).passed


@pytest.mark.parametrize(
    ("assignor", "error", "message"),
    [
        (NeedsAnArgument, ArgumentError, r"give an instance, or `lambda: NeedsAnArgument\(...\)`"),
        (42, ArgumentError, "an assignor, its class, or a function making one"),
        (object, ConfigError, "has no name"),
        (Nameless, ConfigError, "has the name ''"),
    ],
)
def test_what_is_no_assignor_is_refused_with_the_way_out(assignor, error, message):
    with pytest.raises(error, match=message):
        run(assignor, examples=1)


def test_what_cannot_be_made_elsewhere_or_copied_is_judged_as_far_as_it_goes():
    report = run(CannotBeCopied(), examples=25)
    assert report.passed
    (unjudged,) = [each for each in report.outcomes if each.status is Status.NOT_JUDGED]
    assert unjudged.check == "anywhere"
    assert "a class at the top of a module" in unjudged.reason


def test_at_least_one_group_is_drawn():
    with pytest.raises(ArgumentError, match="examples: got 0"):
        run(Decent, examples=0)


@pytest.mark.parametrize(
    ("claims", "message"), [({"balance": 0}, "balance: got 0"), ({"rounds": 1}, "rounds: got 1")]
)
def test_claims_that_no_assignor_could_break_or_keep_are_refused(claims, message):
    with pytest.raises(ArgumentError, match=message):
        Claims(**claims)


def test_without_hypothesis_the_extra_that_brings_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kgroup\[testing\]'"):
        run(BUILT_IN["range"], examples=1)


def test_importing_the_assignors_and_the_kit_needs_neither_hypothesis_nor_pytest():
    program = (
        "import sys, kgroup.assignors, kgroup.assignors.conformance;"
        "sys.exit(bool({'hypothesis', 'pytest'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0
