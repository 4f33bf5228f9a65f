"""The coverage theorem over the table of a KIP-848 member."""

from kgroup.consumer_group.rows import ROWS
from kgroup.consumer_group.states import FACTS, possible
from kgroup.consumer_group.triggers import Action, Guard, Trigger
from kgroup.types import MemberState
from tests.machine.coverage import Expectation, findings

FAMILIES = (
    frozenset({Guard.STILL_REVOKING, Guard.JOINS_NOW, Guard.JOINS_LATER}),
    frozenset({Guard.KNOWN, Guard.UNKNOWN}),
    frozenset({Guard.SETTLED, Guard.UNSETTLED}),
    frozenset({Guard.CLOSING, Guard.NOT_CLOSING}),
    frozenset({Guard.CLOSING, Guard.WANTS_JOIN, Guard.WANTS_NOTHING}),
)

MEMBER = Expectation(
    possible={state: possible(state) for state in FACTS},
    start=MemberState.UNSUBSCRIBED,
    families=FAMILIES,
    actions=frozenset(Action),
    rearms={
        Trigger.HEARTBEAT_DUE: frozenset({Action.SEND_HEARTBEAT}),
        Trigger.LEASE_EXPIRED: frozenset({Action.LOSE_ALL}),
        Trigger.DRAIN_LIMIT: frozenset({Action.CUT_DRAINS}),
        Trigger.RELEASE_LIMIT: frozenset({Action.STOP_WAITING}),
        Trigger.POLL_EXPIRED: frozenset(),
        Trigger.BACKOFF_OVER: frozenset(),
        Trigger.CLOSE_LIMIT: frozenset(),
    },
)


def test_every_event_possible_in_a_state_has_exactly_its_rows_and_none_is_dead() -> None:
    assert findings(ROWS, MEMBER) == ()


def test_every_state_but_those_of_rounds_has_facts() -> None:
    rounds = {MemberState.ASSIGNING, MemberState.SYNCING}
    assert set(FACTS) == set(MemberState) - rounds
