"""Static leaders that come back while a topic grows: what nobody else would notice (KIP-814)."""

from dataclasses import replace

import pytest

from kgroup.codes import ApiKey
from kgroup.journal import AnswerReceived, RoundStored
from tests.search.simulation.perturbation import Kind, Perturbation
from tests.search.simulation.plan import MemberPlan, Plan
from tests.search.simulation.worlds import calm, events, played

LEADER, OTHER = 0, 1
FIRST_ROUNDS = 2
"""One for each member that starts."""
GROWS = Perturbation(11.0, Kind.ADD_PARTITIONS, member=OTHER, number=1)
UNANSWERED = Perturbation(9.0, Kind.LOSE, LEADER, api=ApiKey.DESCRIBE_GROUPS, number=5)


def plan(*what: Perturbation) -> Plan:
    """Return a group of a static leader of one topic, and a static follower of another one."""
    members = tuple(
        MemberPlan(number, f"i{number}", 1.0 * number, (f"t{number}",)) for number in range(2)
    )
    topics = {"t0": 2, "t1": 2}
    return replace(calm(), topics=topics, members=members, perturbations=what)


RESTARTS = Perturbation(10.0, Kind.RESTART, LEADER, seconds=2.0)
RESUBSCRIBES = Perturbation(10.0, Kind.RESUBSCRIBE, LEADER, seconds=2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [(RESTARTS,), (RESUBSCRIBES,), (UNANSWERED, RESUBSCRIBES)],
    ids=["another process asks", "the same one asks", "the same one is not answered"],
)
def test_what_grew_while_the_leader_was_away_is_given_out_in_one_round(
    what: tuple[Perturbation, ...],
) -> None:
    """1. A static leader goes, as a process or by unsubscribing; 2. a topic grows that only another
    member reads; 3. it comes back and leads on, unasked; 4. it asks what was assigned, and knows
    what it assigned from itself."""
    outcome = played(plan(*what, GROWS))
    assert outcome.violations == ()
    assert any(each.skip_assignment for each in events(outcome, AnswerReceived, "m0"))
    assert len(events(outcome, RoundStored)) == FIRST_ROUNDS + 1
