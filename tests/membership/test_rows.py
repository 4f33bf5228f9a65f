"""One test per row: a member brought into the row's state by events, then the row's trigger."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.machine.claims import HoldingState
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import Errand
from kgroup.membership.ending_rows import ROWS
from kgroup.membership.events import (
    Answered,
    AssignorFailed,
    CloseRequested,
    CommitRejected,
    Drained,
    EnforceRebalance,
    MetadataChanged,
    Polled,
    RequestFailed,
    Subscribed,
    Tick,
    Unsubscribed,
)
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Guard, Trigger
from kgroup.types import Leave, MemberState
from tests.membership.driver import REBALANCE, Driven, Writing, join_answer, settings

S, T = MemberState, Trigger
LOST = ConnectionLostError("h:1", "reset")


def member_for(row: MemberRow) -> Driven:
    """Return a member whose configuration lets the row's guard hold."""
    static = row.when is Guard.STATIC
    eager = row.when is Guard.HANDS_BACK and row.at is S.STABLE
    waits_long = row.at is S.BACKING_OFF and row.when is not Guard.HANDS_BACK
    if row.on is T.SUBSCRIPTION_FAILED:
        return Driven(settings(assignors=(Writing(),)))
    return Driven(
        settings(
            assignors=("range",) if eager else ("cooperative-sticky",),
            instance="i-1" if static else None,
            backoff=30.0 if waits_long else 0.1,
            outlives=row.when in (Guard.LAPSES, Guard.RESUMES),
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


def reach(member: Driven, state: MemberState) -> None:
    """Bring the member into `state`, holding partitions where a member can."""
    if state is not S.UNSUBSCRIBED:
        owning(member)
        WAYS[state](member)
    member.expect(state)


def prepare(member: Driven) -> None:
    eager = member.member.eager
    member.on(EnforceRebalance("x") if eager else Subscribed(frozenset({"t"})))


def lose_join(member: Driven) -> None:
    enforce(member)
    member.on(RequestFailed(member.ticket(Errand.JOIN_GROUP), LOST))


def lose_what_is_revoked(member: Driven) -> None:
    """Lose the generation while on_revoked runs, and go on looking for the coordinator."""
    member.on(Subscribed(frozenset({"t"})))
    member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
    member.on(rejected(member, Reaction.LOSE_GENERATION))
    member.expect(S.FINDING)


def lapse(member: Driven) -> None:
    """Come to the end of the lease while the coordinator is looked for."""
    member.joined(2)
    member.synced("t-0", "u-0")
    member.settle()
    member.beat()
    member.on(rejected(member, Reaction.FIND_COORDINATOR))
    past(member, alone(member, T.LEASE_EXPIRED))
    member.expect(S.FINDING)


def lead(member: Driven) -> None:
    enforce(member)
    member.joined(2, leader="m-1")


def sync(member: Driven) -> None:
    lead(member)
    member.assigned()


def refuse_join(member: Driven, code: ErrorCode) -> None:
    enforce(member)
    member.joined(code=code)


def leave(member: Driven) -> None:
    member.on(Unsubscribed())
    member.settle()


def finish(member: Driven) -> None:
    close(member)
    member.settle()
    member.left()


def enforce(member: Driven) -> None:
    member.on(EnforceRebalance("x"))
    member.settle()


def close(member: Driven) -> None:
    member.on(CloseRequested(Leave.DEFAULT, "x", member.now + 4, member.now + 5))


def expire_poll(member: Driven) -> None:
    """Let the poll interval pass while heartbeats are answered."""
    pass_until(member, member.member.wishes.polled_at + REBALANCE)


def pass_until(member: Driven, end: float | None) -> None:
    """Let time pass in which heartbeats are answered."""
    assert end is not None
    while member.now < end:
        member.on(Tick(), after=min(1.0, end - member.now))
        if member.member.heartbeat is not None:
            member.beat()


def rejected(member: Driven, reaction: Reaction) -> CommitRejected:
    generation = member.member.identity.generation
    assert generation is not None
    return CommitRejected(reaction, generation, 0)


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


def pull(member: Driven, row: MemberRow) -> None:
    """Make the row's trigger happen, with the row's guard holding."""
    if row.when is Guard.HANDS_BACK and row.at in (S.JOINING, S.ASSIGNING, S.SYNCING):
        member.on(Subscribed(frozenset({"t"})))
    if row.when is Guard.STILL_REVOKING:
        lose_what_is_revoked(member)
    if row.when is Guard.RESUMES:
        find(member)
        lapse(member)
    if row.when in (Guard.OUT_OF_PACE, Guard.JOINS_LATER):
        out_of_pace(member)
    if row.when is Guard.HANDING_OVER or row.on is T.HAND_OVER_LIMIT:
        take_some(member)
    if row.when is Guard.CLOSING and row.at is S.RELEASING:
        close(member)
    if row.on in SIGNALS:
        member.on(rejected(member, SIGNALS[row.on]))
    elif row.on is T.RETRY_LATER and row.at is S.ASSIGNING:
        assign_late(member)
    elif row.on in REFUSALS:
        answer = member.joined if row.at is S.JOINING else member.synced
        answer(code=REFUSALS[row.on])
    else:
        PULLS[row.on](member, row)


def take_some(member: Driven) -> None:
    member.on(rejected(member, Reaction.REJOIN))
    member.joined(2)
    member.synced("t-0")


def out_of_pace(member: Driven) -> None:
    """As if many rounds had just been joined."""
    round_ = replace(member.member.round, paced_until=member.now + REBALANCE)
    member.member = replace(member.member, round=round_)


def resubscribe(member: Driven, row: MemberRow) -> None:
    dropped = row.when is Guard.HANDS_BACK
    member.on(Subscribed(frozenset({"t"} if dropped else {"t", "u", "v"})))


def lose_coordinator(member: Driven, row: MemberRow) -> None:
    errand = Errand.JOIN_GROUP if row.at is S.JOINING else Errand.SYNC_GROUP
    member.on(RequestFailed(member.ticket(errand), LOST))


def find(member: Driven) -> None:
    if member.state is S.LEAVING:
        member.on(rejected(member, Reaction.FIND_COORDINATOR))
    member.on(Tick(), after=0.5)
    member.found()


def elect_unasked(member: Driven) -> None:
    answer = join_answer(member.member, 2, leader="m-1", skip=True)
    member.on(Answered(member.ticket(Errand.JOIN_GROUP), answer))


def back_off_over(member: Driven, row: MemberRow) -> None:
    past(member, alone(member, row.on))
    if row.when is Guard.HANDS_BACK:
        member.on(Subscribed(frozenset({"t"})))
        member.joined(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        past(member, alone(member, row.on))


def assign_late(member: Driven) -> None:
    member.on(AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), TimeoutError("x")))


def fail_assignor(member: Driven) -> None:
    member.on(AssignorFailed(member.ticket(Errand.RUN_ASSIGNOR), ValueError("x")))


def fail_subscription(member: Driven) -> None:
    """The member id that is given asks for another JoinGroup, and that cannot be written."""
    (assignor,) = member.member.settings.assignors
    assert isinstance(assignor, Writing)
    assignor.made = "not bytes"
    member.joined(code=ErrorCode.MEMBER_ID_REQUIRED)


def be_due(member: Driven) -> None:
    """As if the assignor had asked for another round in a second."""
    lead = replace(member.member.lead, rejoin_at=member.now + 1)
    member.member = replace(member.member, lead=lead)
    past(member, member.now + 1)


def close_limit(member: Driven, row: MemberRow) -> None:
    close(member)
    past(member, member.now + (5 if row.at is S.LEAVING else 4))


def release_limit(member: Driven, row: MemberRow) -> None:
    """Let the listener hang, and heartbeats be answered."""
    if row.at is S.PREPARING:
        member.on(Drained(member.member.holdings.having(HoldingState.DRAINING)))
        member.on(rejected(member, Reaction.LOSE_GENERATION))
        member.on(Tick(), after=0.5)
        member.found()
    pass_until(member, member.now + 1)
    member.on(Polled())
    pass_until(member, member.member.round.release_until)


def owe_round(member: Driven) -> None:
    """Let the counts change during a round: STABLE owes another one at once."""
    member.on(EnforceRebalance("x"))
    member.settle()
    member.joined(2, leader="m-1")
    member.on(MetadataChanged({"t": 9}))
    member.assigned()
    member.synced("t-0", "u-0")


def end_leave(member: Driven, row: MemberRow) -> None:
    if row.when is Guard.CLOSING:
        close(member)
    if row.when is Guard.WANTS_JOIN:
        member.subscribe("v")
    member.left()


def refuse(member: Driven, code: ErrorCode) -> None:
    """A heartbeat, or the search for the coordinator, is refused."""
    if member.state is S.FINDING:
        member.on(Tick(), after=0.5)
        member.found(code)
        return
    past(member, member.member.heartbeat_at)
    member.beat(code)


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


WAYS: dict[MemberState, Callable[[Driven], object]] = {
    S.STABLE: lambda _: None,
    S.FINDING: lose_join,
    S.PREPARING: prepare,
    S.JOINING: enforce,
    S.ASSIGNING: lead,
    S.SYNCING: sync,
    S.BACKING_OFF: lambda m: refuse_join(m, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    S.DORMANT: expire_poll,
    S.RELEASING: lambda m: m.on(Unsubscribed()),
    S.LEAVING: leave,
    S.LEFT: finish,
    S.FENCED: lambda m: m.on(rejected(m, Reaction.FENCE)),
    S.FAILED: lambda m: refuse_join(m, ErrorCode.INVALID_GROUP_ID),
}

REFUSALS = {
    T.MEMBER_ID_GIVEN: ErrorCode.MEMBER_ID_REQUIRED,
    T.RETRY_LATER: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    T.REJOIN_ASKED: ErrorCode.REBALANCE_IN_PROGRESS,
    T.GENERATION_LOST_IN_ROUND: ErrorCode.ILLEGAL_GENERATION,
    T.MEMBER_LOST_IN_ROUND: ErrorCode.UNKNOWN_MEMBER_ID,
    T.ROUND_NOT_PERMITTED: ErrorCode.GROUP_AUTHORIZATION_FAILED,
}

SIGNALS = {
    T.REBALANCE_SIGNALLED: Reaction.REJOIN,
    T.GENERATION_LOST: Reaction.LOSE_GENERATION,
    T.MEMBER_LOST: Reaction.LOSE_MEMBER,
    T.FENCED: Reaction.FENCE,
}

PULLS: dict[Trigger, Callable[[Driven, MemberRow], object]] = {
    T.SUBSCRIBED: resubscribe,
    T.UNSUBSCRIBED: lambda m, _: m.on(Unsubscribed()),
    T.CLOSE_REQUESTED: lambda m, _: close(m),
    T.REBALANCE_ENFORCED: lambda m, _: m.on(EnforceRebalance("y")),
    T.TOPICS_CHANGED: lambda m, _: m.on(MetadataChanged({"t": 9})),
    T.POLL_RESUMED: lambda m, _: m.on(Polled()),
    T.HANDED_BACK: lambda m, _: m.settle(),
    T.ROUND_OWED: lambda m, _: owe_round(m),
    T.COORDINATOR_READY: lambda m, _: find(m),
    T.COORDINATOR_LOST: lose_coordinator,
    T.ELECTED: lambda m, _: m.joined(2, leader="m-1"),
    T.ELECTED_UNASKED: lambda m, _: elect_unasked(m),
    T.JOINED: lambda m, _: m.joined(2),
    T.ASSIGNOR_DONE: lambda m, _: m.assigned(),
    T.ASSIGNOR_FAILED: lambda m, _: fail_assignor(m),
    T.SYNCED: lambda m, _: m.synced("t-0", "u-0"),
    T.ASSIGNMENT_UNREADABLE: lambda m, _: m.synced(data=b"\x00"),
    T.LEAVE_ENDED: end_leave,
    T.REFUSED: lambda m, _: refuse(m, ErrorCode.INVALID_GROUP_ID),
    T.NOT_PERMITTED: lambda m, _: refuse(m, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    T.POLL_EXPIRED: lambda m, _: expire_poll_in(m),
    T.DRAIN_LIMIT: lambda m, _: pass_until(m, m.member.round.drain_until),
    T.RELEASE_LIMIT: release_limit,
    T.HAND_OVER_LIMIT: lambda m, _: pass_until(m, m.now + 0.5),
    T.CLOSE_LIMIT: close_limit,
    T.HEARTBEAT_DUE: lambda m, row: past(m, alone(m, row.on)),
    T.BACKOFF_OVER: back_off_over,
    T.LEASE_EXPIRED: lambda m, row: past(m, alone(m, row.on)),
    T.REJOIN_DUE: lambda m, _: be_due(m),
    T.SUBSCRIPTION_FAILED: lambda m, _: fail_subscription(m),
}


@pytest.mark.parametrize("row", ROWS.rows, ids=str)
def test_a_row_fires_and_leads_where_it_says(row: MemberRow) -> None:
    member = member_for(row)
    reach(member, row.at)
    member.fired.clear()
    pull(member, row)
    assert row in member.fired
    following = [*(each.at for each in member.fired), member.state]
    assert following[member.fired.index(row) + 1] is row.to
