"""One test per row of the coordinator table: a member brought there by events."""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.coordinator import (
    COORDINATOR_ROWS,
    CoordinatorState,
    CoordinatorTrigger,
)
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    EnforceRebalance,
    RequestFailed,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.types import MemberState
from kgroup.wire.messages import FindCoordinatorRequest
from tests.membership.driver import HEARTBEAT, NODE, Driven

S = CoordinatorState
T = CoordinatorTrigger
LOST = ConnectionLostError("h:1", "reset")


def at_unknown() -> Driven:
    return Driven()


def at_searching() -> Driven:
    member = at_unknown()
    member.subscribe()
    return member


def at_waiting() -> Driven:
    member = at_searching()
    member.found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return member


def at_known() -> Driven:
    return Driven().join("t-0")


WAYS: dict[CoordinatorState, Callable[[], Driven]] = {
    S.UNKNOWN: at_unknown,
    S.SEARCHING: at_searching,
    S.WAITING: at_waiting,
    S.KNOWN: at_known,
}


def need(member: Driven) -> None:
    """Ask for the coordinator once more: join, or leave and join again."""
    if member.member.coordinator.state is S.UNKNOWN:
        member.subscribe()
    elif member.member.coordinator.state is S.KNOWN:
        member.on(EnforceRebalance("x"))
    else:
        member.on(Unsubscribed())
        member.on(Subscribed(frozenset({"u"})))


def lose(member: Driven) -> None:
    member.on(Tick(), after=HEARTBEAT)
    member.beat(ErrorCode.NOT_COORDINATOR)


PULLS: dict[CoordinatorTrigger, Callable[[Driven], object]] = {
    T.NEEDED: need,
    T.FOUND: lambda member: member.found(),
    T.NOT_FOUND: lambda member: member.on(
        RequestFailed(member.ticket(Errand.FIND_COORDINATOR), LOST)
    ),
    T.NOT_PERMITTED: lambda member: member.found(ErrorCode.GROUP_AUTHORIZATION_FAILED),
    T.LOST: lose,
    T.SEARCH_DUE: lambda member: member.on(Tick(), after=2.0),
}


@pytest.mark.parametrize("row", COORDINATOR_ROWS.rows, ids=str)
def test_a_row_leads_where_it_says(row) -> None:
    member = WAYS[row.at]()
    assert member.member.coordinator.state is row.at
    PULLS[row.on](member)
    assert member.member.coordinator.state is row.to
    assert (member.member.coordinator.node_id == NODE) == (row.to is S.KNOWN)


def test_a_second_need_does_not_send_a_second_search() -> None:
    member = at_searching()
    need(member)
    assert len(member.sent(FindCoordinatorRequest)) == 1
    member.expect(MemberState.FINDING)
