"""One test per row: a member brought into the row's state by events, then the row's trigger."""

from dataclasses import replace

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.reactions import Reaction
from kgroup.machine.tickets import Errand
from kgroup.membership.events import (
    Answered,
    AssignorFailed,
    CloseRequested,
    CommitRejected,
    EnforceRebalance,
    ListenerDone,
    MetadataChanged,
    Polled,
    RequestFailed,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.membership.rows import ROWS
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Guard, Trigger
from kgroup.types import Generation, Leave, MemberState
from tests.membership.driver import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Driven,
    join_answer,
    settings,
)

S = MemberState
T = Trigger
LOST = ConnectionLostError("h:1", "reset")


def member_for(row: MemberRow) -> Driven:
    """Return a member whose configuration lets the row's guard hold."""
    static = row.when is Guard.STATIC
    eager = row.when is Guard.HANDS_BACK and row.at is S.STABLE
    return Driven(
        settings(
            assignors=("range",) if eager else ("cooperative-sticky",),
            instance="i-1" if static else None,
            backoff=30.0 if row.at is S.BACKING_OFF else 0.1,
        )
    )


def owning(member: Driven) -> Driven:
    """STABLE, with a partition of a topic that may be dropped, as leader of the group."""
    member.on(MetadataChanged({"t": 4}))
    member.subscribe("t", "u")
    member.found()
    member.joined(1, leader="m-1")
    member.assigned()
    member.synced("t-0", "u-0")
    member.settle()
    member.beat()
    return member


def reach(member: Driven, state: MemberState) -> None:  # noqa: C901 - one arm per state
    """Bring the member into `state`, holding partitions where a member can."""
    if state is S.UNSUBSCRIBED:
        return
    owning(member)
    eager = member.member.eager
    match state:
        case S.STABLE:
            pass
        case S.FINDING:
            enforce(member)
            member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))
        case S.PREPARING:
            if eager:
                member.on(EnforceRebalance("x"))
            else:
                member.on(Subscribed(frozenset({"t"})))
        case S.JOINING:
            enforce(member)
        case S.ASSIGNING:
            enforce(member)
            member.joined(2, leader="m-1")
        case S.SYNCING:
            enforce(member)
            member.joined(2, leader="m-1")
            member.assigned()
        case S.BACKING_OFF:
            enforce(member)
            member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        case S.DORMANT:
            expire_poll(member)
        case S.RELEASING:
            member.on(Unsubscribed())
        case S.LEAVING:
            member.on(Unsubscribed())
            member.settle()
        case S.LEFT:
            close(member)
            member.settle()
            member.left()
        case S.FENCED:
            member.on(rejected(member, Reaction.FENCE))
        case S.FAILED:
            enforce(member)
            member.joined(code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    member.expect(state)


def enforce(member: Driven) -> None:
    member.on(EnforceRebalance("x"))
    member.settle()


def close(member: Driven) -> None:
    member.on(CloseRequested(Leave.DEFAULT, "x", member.now + 4, member.now + 5))


def expire_poll(member: Driven) -> None:
    """Let the poll interval pass while heartbeats are answered."""
    end = member.member.wishes.polled_at + REBALANCE
    while member.now < end:
        member.on(Tick(), after=min(1.0, end - member.now))
        if member.member.heartbeat is not None:
            member.beat()


def rejected(member: Driven, reaction: Reaction) -> CommitRejected:
    generation = member.member.identity.generation
    assert generation is not None
    return CommitRejected(reaction, generation, 0)


def signal(member: Driven, reaction: Reaction) -> None:
    """Tell it beside the round: a commit's answer, or a generation that is still known."""
    member.on(rejected(member, reaction))


def past(member: Driven, instant: float) -> None:
    member.now = instant
    member.on(Tick())


def alone(member: Driven, timer: Trigger) -> float:
    """Return when `timer` is due, with every timer that is due before it out of the way."""
    return {
        T.HEARTBEAT_DUE: member.member.heartbeat_at,
        T.BACKOFF_OVER: member.member.round.retry_at,
        T.LEASE_EXPIRED: member.member.lease.limit() or 0.0,
    }[timer]


def drain_limit(member: Driven) -> None:
    end = member.member.round.drain_until
    assert end is not None
    while member.now < end:
        member.on(Tick(), after=min(1.0, end - member.now))
        if member.member.heartbeat is not None:
            member.beat()


def pull(member: Driven, row: MemberRow) -> None:  # noqa: C901 - one arm per trigger
    """Make the row's trigger happen, with the row's guard holding."""
    answers = {
        T.MEMBER_ID_GIVEN: ErrorCode.MEMBER_ID_REQUIRED,
        T.RETRY_LATER: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        T.REJOIN_ASKED: ErrorCode.REBALANCE_IN_PROGRESS,
        T.GENERATION_REFUSED: ErrorCode.ILLEGAL_GENERATION,
        T.MEMBER_REFUSED: ErrorCode.UNKNOWN_MEMBER_ID,
    }
    signals = {
        T.REBALANCE_SIGNALLED: Reaction.REJOIN,
        T.GENERATION_STALE: Reaction.DROP_GENERATION,
        T.EXPELLED: Reaction.DROP_MEMBER,
        T.FENCED: Reaction.FENCE,
    }
    if row.when is Guard.HANDS_BACK and row.at in (S.ASSIGNING, S.SYNCING):
        member.on(Subscribed(frozenset({"t"})))
    match row.on:
        case T.SUBSCRIBED:
            dropped = row.when is Guard.HANDS_BACK
            member.on(Subscribed(frozenset({"t"} if dropped else {"t", "u", "v"})))
        case T.UNSUBSCRIBED:
            member.on(Unsubscribed())
        case T.CLOSE_REQUESTED:
            close(member)
        case T.REBALANCE_ENFORCED:
            member.on(EnforceRebalance("y"))
        case T.TOPICS_CHANGED:
            member.on(MetadataChanged({"t": 9}))
        case T.POLL_RESUMED:
            member.on(Polled())
        case T.HANDED_BACK:
            member.settle()
        case T.ROUND_OWED:
            owe_round(member)
        case T.COORDINATOR_READY:
            member.on(Tick(), after=0.5)
            member.found()
        case T.COORDINATOR_LOST:
            errand = Errand.JOIN_GROUP if row.at is S.JOINING else Errand.SYNC_GROUP
            member.on(RequestFailed(member.ticket(errand), LOST))
        case T.ELECTED:
            member.joined(2, leader="m-1")
        case T.ELECTED_UNASKED:
            answer = join_answer(member.member, 2, leader="m-1", skip=True)
            member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))
        case T.JOINED:
            member.joined(2)
        case T.ASSIGNOR_DONE:
            member.assigned()
        case T.ASSIGNOR_FAILED:
            member.on(AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), ValueError("x")))
        case T.SYNCED:
            member.synced("t-0", "u-0")
        case T.ASSIGNMENT_UNREADABLE:
            member.synced(data=b"\x00")
        case T.LEAVE_ENDED:
            end_leave(member, row.when)
        case T.REFUSED:
            refuse(member)
        case T.POLL_EXPIRED:
            expire_poll_in(member)
        case T.DRAIN_LIMIT:
            drain_limit(member)
        case T.CLOSE_LIMIT:
            close(member)
            past(member, member.now + (5 if row.at is S.LEAVING else 4))
        case T.HEARTBEAT_DUE | T.BACKOFF_OVER | T.LEASE_EXPIRED:
            past(member, alone(member, row.on))
        case _ if row.on in signals:
            signal(member, signals[row.on])
        case _ if row.at is S.JOINING:
            member.joined(code=answers[row.on])
        case _:
            member.synced(code=answers[row.on])


def owe_round(member: Driven) -> None:
    """Let the counts change during a round: STABLE owes another one at once."""
    member.on(EnforceRebalance("x"))
    member.settle()
    member.joined(2, leader="m-1")
    member.on(MetadataChanged({"t": 9}))
    member.assigned()
    member.synced("t-0", "u-0")


def end_leave(member: Driven, guard: Guard | None) -> None:
    if guard is Guard.CLOSING:
        close(member)
    if guard is Guard.WANTS_JOIN:
        member.subscribe("v")
    member.left()


def refuse(member: Driven) -> None:
    """A heartbeat, or the search for the coordinator, is refused for good."""
    if member.state is S.FINDING:
        member.on(Tick(), after=0.5)
        member.found(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return
    past(member, member.member.heartbeat_at)
    member.beat(ErrorCode.GROUP_AUTHORIZATION_FAILED)


def expire_poll_in(member: Driven) -> None:
    """Let only the poll interval run out: everything else is answered just in time."""
    member.now = member.member.wishes.polled_at + REBALANCE
    # The lease must not be what ends it: it is as good as if the last answer came just now.
    lease = member.member.lease.rejoined(member.now).confirmed(member.now, synced=True)
    round_ = replace(member.member.round, retry_at=member.now + 1, drain_until=member.now + 1)
    coordinator = replace(member.member.coordinator, search_at=member.now + 1)
    member.member = replace(
        member.member,
        lease=lease,
        round=round_,
        coordinator=coordinator,
        heartbeat_at=member.now + 1,
    )
    member.on(Tick())


@pytest.mark.parametrize("row", ROWS.rows, ids=str)
def test_a_row_fires_and_leads_where_it_says(row: MemberRow) -> None:
    member = member_for(row)
    reach(member, row.at)
    member.fired.clear()
    pull(member, row)
    assert row in member.fired


def test_a_generation_is_replaced_whole() -> None:
    member = Driven().join("t-0")
    assert member.member.identity.generation == Generation(
        "g", 1, "m-1", None, "cooperative-sticky"
    )


def test_the_session_and_heartbeat_of_the_driver_leave_room() -> None:
    assert SESSION > 3 * HEARTBEAT
    member = Driven().join("t-0")
    member.on(ListenerDone(99))
    member.expect(S.STABLE)
