"""The kit over everything that is kgroup's own, and over another client's assignors."""

import pytest
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from docs.examples.assignors.grace import GraceAssignor
from docs.examples.assignors.weighted import WeightedAssignor
from docs.examples.assignors.zone import ZoneAssignor
from kgroup.assignors import BUILT_IN
from kgroup.assignors.conformance import EXAMPLES, Claims, Status, run

CLAIMED = [
    (BUILT_IN["range"], Claims()),
    (BUILT_IN["roundrobin"], Claims(balance=1)),
    (BUILT_IN["sticky"], Claims(balance=1, optimal=True, sticky=True)),
    (BUILT_IN["cooperative-sticky"], Claims(balance=1, optimal=True, sticky=True, rounds=2)),
]
EXAMPLE_PLUG_INS = [
    (ZoneAssignor, Claims(rounds=2)),
    (WeightedAssignor, Claims(balance=1, sticky=True, rounds=2)),
    (GraceAssignor, Claims(balance=1, sticky=True, rounds=2)),
]

each_built_in = pytest.mark.parametrize(
    ("assignor", "claims"), CLAIMED, ids=[assignor.name for assignor, _ in CLAIMED]
)


def judged(assignor, claims, examples):
    report = run(assignor, claims, examples)
    assert report.passed, report.text()
    return {outcome.check: outcome.status for outcome in report.outcomes}


@each_built_in
def test_the_built_in_assignors_keep_what_they_promise_in_a_few_groups(assignor, claims):
    assert Status.NOT_JUDGED not in judged(assignor, claims, examples=10).values()


@pytest.mark.slow
@each_built_in
def test_the_built_in_assignors_keep_what_they_promise(assignor, claims):
    assert Status.NOT_JUDGED not in judged(assignor, claims, EXAMPLES).values()


@pytest.mark.slow
@pytest.mark.parametrize(("assignor", "claims"), EXAMPLE_PLUG_INS)
def test_the_example_plug_ins_keep_what_they_promise(assignor, claims):
    assert Status.NOT_JUDGED not in judged(assignor, claims, examples=3_000).values()


@pytest.mark.slow
def test_an_assignor_of_another_client_can_be_held_to_the_promises_too():
    statuses = judged(RoundRobinPartitionAssignor, Claims(), examples=200)
    assert statuses["memoryless"] is Status.KEPT
