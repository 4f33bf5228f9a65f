"""The kit over the built-in assignors, and over one of another client."""

import pytest
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from kgroup.assignors import BUILT_IN
from kgroup.assignors.conformance import Claims, Status, run

GROUPS = 2_000
"""A fifth of what users draw; more find nothing else in built-in assignors."""

CLAIMED = [
    (BUILT_IN["range"], Claims()),
    (BUILT_IN["roundrobin"], Claims(balance=1)),
    (BUILT_IN["sticky"], Claims(balance=1, optimal=True, sticky=True)),
    (BUILT_IN["cooperative-sticky"], Claims(balance=1, optimal=True, sticky=True, rounds=2)),
]
each_built_in = pytest.mark.parametrize(
    ("assignor", "claims"), CLAIMED, ids=[assignor.name for assignor, _ in CLAIMED]
)


def judged(assignor, claims, examples):
    report = run(assignor, claims, examples)
    assert report.passed, report.text()
    return {outcome.check: outcome.status for outcome in report.outcomes}


@pytest.mark.slow
@each_built_in
def test_the_built_in_assignors_keep_what_they_promise(assignor, claims):
    assert Status.NOT_JUDGED not in judged(assignor, claims, GROUPS).values()


@pytest.mark.slow
def test_an_assignor_of_another_client_can_be_held_to_the_promises_too():
    statuses = judged(RoundRobinPartitionAssignor, Claims(), examples=200)
    assert statuses["memoryless"] is Status.KEPT
