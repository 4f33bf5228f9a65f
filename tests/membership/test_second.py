"""Heartbeats beside a blocked loop: what is lent, when the second speaks, what an answer proves."""

import math
from dataclasses import replace

import pytest

from kgroup.codes import ErrorCode
from kgroup.machine.wishes import Errand
from kgroup.membership.events import (
    CloseRequested,
    EnforceRebalance,
    Polled,
    RequestFailed,
    SecondBeat,
    SecondHeard,
    Tick,
)
from kgroup.membership.second import Loan, Voice, answered, beat_at, lend, may_beat, unanswered
from kgroup.types import Generation, Leave, MemberState
from kgroup.wire.messages import HeartbeatRequest
from tests.membership.driver import HEARTBEAT, NODE, REBALANCE, SESSION, Driven

OK, REBALANCING = 0, ErrorCode.REBALANCE_IN_PROGRESS
MARGIN = 0.5


def generation(member: Driven) -> Generation:
    found = member.member.identity.generation
    assert found is not None
    return found


def lent(member: Driven) -> Loan:
    loan = lend(member.member)
    assert loan is not None
    return loan


def beats(member: Driven, *ages: float, code: int = OK) -> SecondHeard:
    """Heartbeats that were sent so many seconds ago, and answered at once."""
    at = [member.now - age for age in ages]
    each = tuple(SecondBeat(generation(member), sent, sent + 0.01, code) for sent in at)
    return SecondHeard(each)


def blocked(member: Driven, seconds: float) -> None:
    """Let time pass in which nothing is stepped."""
    member.now += seconds


# -- what is lent ----------------------------------------------------------------------------------


def test_a_member_lends_its_generation_its_coordinator_and_its_poll() -> None:
    member = Driven().join("t-0")
    loan = lent(member)
    assert (loan.generation, loan.node_id) == (generation(member), NODE)
    assert loan.until == member.member.wishes.polled_at + REBALANCE
    assert loan.interval == HEARTBEAT


def test_the_member_is_late_when_its_own_heartbeat_is_half_an_interval_overdue() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    assert lent(member).due == member.now + 1.5 * HEARTBEAT


@pytest.mark.parametrize("drained", [True, False])
def test_nothing_is_lent_once_a_round_is_joined(drained: bool) -> None:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("x"))
    member.expect(MemberState.JOINING)
    if not drained:
        member.joined(2)
        member.expect(MemberState.SYNCING)
    assert lend(member.member) is None


def test_nothing_is_lent_once_the_member_leaves() -> None:
    member = Driven().join("t-0")
    member.on(CloseRequested(Leave.LEAVE, "over", member.now + 5, member.now + 9))
    member.settle()
    member.expect(MemberState.LEAVING)
    assert lend(member.member) is None


def test_the_word_is_lent_while_a_closing_member_waits_for_its_listener() -> None:
    member = Driven().join("t-0")
    member.on(CloseRequested(Leave.LEAVE, "over", member.now + 5, member.now + 9))
    member.expect(MemberState.RELEASING)
    assert lent(member).generation == generation(member)


def test_nothing_is_lent_before_there_is_a_generation() -> None:
    member = Driven()
    member.subscribe()
    assert lend(member.member) is None


def test_nothing_is_lent_while_the_coordinator_is_looked_for() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.on(RequestFailed(member.ticket(Errand.HEARTBEAT), TimeoutError()))
    assert lend(member.member) is None


# -- when the second speaks ------------------------------------------------------------------------


def test_the_second_is_silent_while_the_member_sends_its_own() -> None:
    member = Driven().join("t-0")
    for _ in range(5):
        member.on(Tick(), after=HEARTBEAT)
        member.beat()
        member.on(Polled())
        assert not may_beat(lent(member), Voice(), member.now + HEARTBEAT)


def test_the_second_speaks_when_the_member_is_late() -> None:
    loan = lent(Driven().join("t-0"))
    assert not may_beat(loan, Voice(), loan.due - 0.01)
    assert may_beat(loan, Voice(), loan.due)


def test_a_second_without_a_loan_is_silent() -> None:
    assert beat_at(None, Voice()) == math.inf
    assert not may_beat(None, Voice(), 1e9)


@pytest.mark.parametrize("code", [OK, REBALANCING])
def test_it_goes_on_an_interval_after_what_it_said(code: int) -> None:
    loan = lent(Driven().join("t-0"))
    said = SecondBeat(loan.generation, loan.due, loan.due + 1.0, code)
    assert beat_at(loan, answered(Voice(), loan, said)) == loan.due + HEARTBEAT


def test_it_is_silent_from_the_end_of_the_poll_interval_on() -> None:
    loan = replace(lent(Driven().join("t-0")), until=2000.0)
    late = Voice(not_before=2000.0)
    assert may_beat(loan, Voice(), 1999.9)
    assert not may_beat(loan, Voice(), 2000.0)
    assert beat_at(loan, late) == math.inf


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ],
)
def test_a_second_whose_heartbeat_is_refused_waits_for_the_next_loan(code: ErrorCode) -> None:
    loan = lent(Driven().join("t-0"))
    voice = answered(Voice(), loan, SecondBeat(loan.generation, loan.due, loan.due, code))
    assert beat_at(loan, voice) == math.inf
    assert may_beat(replace(loan), voice, loan.due)


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None])
def test_it_tries_again_soon_when_nobody_answers_or_the_answer_is_to_wait(
    code: ErrorCode | None,
) -> None:
    loan = lent(Driven().join("t-0"))
    if code is None:
        voice = unanswered(Voice(), loan, loan.due)
    else:
        voice = answered(Voice(), loan, SecondBeat(loan.generation, loan.due, loan.due, code))
    assert loan.due < beat_at(loan, voice) <= loan.due + HEARTBEAT


# -- what it proves --------------------------------------------------------------------------------


def test_a_member_that_wakes_late_keeps_what_the_second_has_kept() -> None:
    member = Driven().join("t-0")
    blocked(member, 3 * SESSION)
    member.on(beats(member, 27.0, 24.0, 18.0, 12.0, 6.0, 1.0))
    assert member.member.may_deliver(member.claim("t-0"), member.now)
    assert member.is_in(MemberState.STABLE)
    assert len(member.sent(HeartbeatRequest)) == 2, "its own is overdue, and sent"


def test_without_the_second_the_same_member_loses_everything() -> None:
    member = Driven().join("t-0")
    member.on(Tick(), after=3 * SESSION)
    assert not member.owned()


def test_the_lease_is_reckoned_from_the_latest_sending_time() -> None:
    member = Driven().join("t-0")
    blocked(member, 8.0)
    member.on(beats(member, 3.0))
    assert member.member.lease.expires_at() == member.now - 3.0 + SESSION - MARGIN


def test_a_gap_that_is_longer_than_the_session_is_not_bridged() -> None:
    """The coordinator may have said yes to another one since: the end of a lease is final."""
    member = Driven().join("t-0")
    blocked(member, 3 * SESSION)
    member.on(beats(member, 2.0, 1.0))
    assert not member.owned()


def test_the_poll_interval_is_kept_although_the_session_is() -> None:
    member = Driven().join("t-0")
    blocked(member, REBALANCE + 1)
    member.on(beats(member, *(REBALANCE - 5.0 * n for n in range(1, 12))))
    assert not member.owned()


def test_a_round_that_goes_on_renews_the_session_and_no_more() -> None:
    member = Driven().join("t-0")
    synced_at = member.member.lease.synced_at
    blocked(member, 8.0)
    member.on(beats(member, 3.0, code=REBALANCING))
    assert member.member.lease.confirmed_at == member.now - 3.0
    assert member.member.lease.synced_at == synced_at
    assert member.is_in(MemberState.STABLE), "only an answer to the member itself is followed"


@pytest.mark.parametrize("other", [{"generation_id": 7}, {"member_id": "m-2"}])
def test_an_answer_under_another_identity_proves_nothing(other: dict[str, object]) -> None:
    member = Driven().join("t-0")
    before = member.member.lease
    blocked(member, 2.0)
    (beat,) = beats(member, 1.0).beats
    strange = replace(beat, generation=replace(beat.generation, **other))  # type: ignore[arg-type]
    member.on(SecondHeard((strange,)))
    assert member.member.lease == before


def test_a_refusal_proves_nothing_and_ends_nothing() -> None:
    member = Driven().join("t-0")
    before = member.member
    blocked(member, 2.0)
    member.on(beats(member, 1.0, code=ErrorCode.UNKNOWN_MEMBER_ID))
    assert member.member == before
