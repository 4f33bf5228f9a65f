"""What ends ownership: a refused epoch, an expired lease, a twin, an application that stops."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer_group.events import Disconnect
from kgroup.errors import BrokerError, FencedError
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import CommitRejected, Drained, Polled, Raise
from kgroup.types import Cause, ChangeKind, MemberState
from tests.consumer_group.driver import INTERVAL, REBALANCE, SESSION, Driven, partitions, settings

MARGIN = settings().lease_margin


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (ErrorCode.FENCED_MEMBER_EPOCH, Cause.GENERATION_STALE),
        (ErrorCode.UNKNOWN_MEMBER_ID, Cause.UNKNOWN_MEMBER),
    ],
)
def test_a_refused_epoch_loses_everything_and_joins_with_epoch_0_under_the_same_id(
    code: ErrorCode, cause: Cause
) -> None:
    member = Driven().join("t-0")
    member.due_beat()
    member.answer(code=code)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.member.changes[0].cause is cause
    member.expect(MemberState.JOINING)
    assert (member.beat.member_epoch, member.beat.member_id) == (0, "me")
    assert member.listed() == frozenset()


def test_a_claim_that_was_lost_stays_over_when_its_partition_comes_back() -> None:
    member = Driven().join("t-0")
    old = member.claim("t-0")
    member.due_beat()
    member.answer(code=ErrorCode.FENCED_MEMBER_EPOCH)
    member.answer(5, "t-0")
    member.settle()
    member.tick()
    member.answer(5)
    assert member.delivers("t-0") == [True]
    assert not member.member.may_deliver(old, member.now)


def test_a_lease_that_expires_loses_everything_and_asks_with_the_epoch_it_had() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    sent_at = member.now
    member.answer(2)
    member.due_beat()
    while member.owned():
        member.next()
    assert member.now == pytest.approx(sent_at + SESSION - MARGIN)
    assert member.member.changes[0].cause is Cause.SESSION_EXPIRED
    assert (member.beat.member_epoch, member.listed()) == (2, frozenset())


def test_a_late_answer_revives_nothing() -> None:
    member = Driven().join("t-0")
    old = member.claim("t-0")
    member.due_beat()
    late = member.ticket()
    member.tick(after=SESSION)
    assert member.owned() == frozenset()
    member.answer(2, ticket=late)
    assert not member.member.may_deliver(old, member.now)
    assert member.owned() == frozenset()


def test_a_process_that_wakes_beyond_its_lease_hands_out_nothing() -> None:
    member = Driven().join("t-0")
    old = member.claim("t-0")
    member.now += 2 * SESSION
    assert not member.member.may_deliver(old, member.now)


def test_a_member_that_was_not_missed_gets_its_partitions_back_as_new_claims() -> None:
    member = Driven().join("t-0")
    old = member.claim("t-0")
    member.due_beat()
    member.tick(after=SESSION)
    member.settle()
    member.answer(2, "t-0")
    assert member.claim("t-0") != old


def test_a_member_that_was_expelled_while_its_lease_was_over_joins_with_epoch_0() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    member.tick(after=SESSION)
    member.answer(code=ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(MemberState.JOINING)
    assert member.beat.member_epoch == 0


def test_a_revocation_that_takes_too_long_ends_the_lease_before_the_coordinator_does() -> None:
    """The session is renewed all the while: it is the rebalance time-out that the coordinator
    counts, from the answer on that took something away."""
    member = Driven(settings(rebalance_timeout=20.0)).join("t-0", "t-1")
    member.due_beat()
    begun = member.now
    member.answer(2, "t-0")
    member.on(Drained((member.claim("t-1"),)))
    while member.owned():
        member.on(Polled())
        member.next()
        if member.member.heartbeat is not None and member.owned():
            member.answer(2)
    assert begun < member.now < begun + 20.0
    assert member.member.changes[-1].kind is ChangeKind.LOST


def test_a_revocation_that_is_acknowledged_in_time_costs_nothing() -> None:
    member = Driven(settings(rebalance_timeout=20.0)).join("t-0", "t-1")
    member.due_beat()
    member.answer(2, "t-0")
    member.settle()
    for _ in range(20):
        member.due_beat()
        member.on(Polled())
        member.answer(3)
    assert member.owned() == partitions("t-0")


def test_a_twin_ends_the_membership_for_good() -> None:
    member = Driven(settings(group_instance_id="i1")).join("t-0")
    member.due_beat()
    member.answer(code=ErrorCode.FENCED_INSTANCE_ID)
    member.expect(MemberState.FENCED)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, FencedError)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]


def test_a_coordinator_that_moves_takes_nothing_and_hears_everything() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    member.answer(code=ErrorCode.NOT_COORDINATOR)
    member.expect(MemberState.STABLE)
    assert len(member.did(Disconnect)) == 1
    member.next()
    member.found()
    member.tick()
    assert (member.beat.member_epoch, member.listed()) == (2, partitions("t-0"))
    assert member.beat.subscribed_topic_names == ("t",)
    assert member.delivers("t-0") == [True]


def test_an_epoch_that_goes_back_is_told_and_loses_everything() -> None:
    member = Driven().join("t-0", epoch=5)
    member.due_beat()
    member.answer(4)
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.beat.member_epoch == 0


def test_a_refused_commit_of_the_present_epoch_tells_that_the_member_is_gone() -> None:
    member = Driven().join("t-0")
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.LOSE_MEMBER, generation, ErrorCode.UNKNOWN_MEMBER_ID))
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]


def test_a_refused_commit_of_an_older_epoch_tells_nothing() -> None:
    member = Driven().join("t-0")
    generation = member.member.identity.generation
    assert generation is not None
    member.due_beat()
    member.answer(3)
    member.on(CommitRejected(Reaction.LOSE_MEMBER, generation, ErrorCode.UNKNOWN_MEMBER_ID))
    assert member.owned() == partitions("t-0")


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i1", -2)])
def test_an_application_that_stops_polling_costs_the_membership_until_it_polls(
    instance: str | None, epoch: int
) -> None:
    member = Driven(settings(group_instance_id=instance)).join("t-0")
    for _ in range(round(REBALANCE / INTERVAL) + 1):
        if member.member.state is MemberState.DORMANT:
            break
        member.due_beat()
        if member.member.state is MemberState.STABLE:
            member.answer(2)
    member.expect(MemberState.DORMANT)
    assert member.beat.member_epoch == epoch
    assert member.member.changes[0].cause is Cause.POLL_TIMEOUT
    member.on(Polled())
    member.expect(MemberState.JOINING)
    assert member.beat.member_epoch == 0


def test_a_fatal_answer_loses_everything() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    member.answer(code=ErrorCode.INVALID_REQUEST, text="no")
    member.expect(MemberState.FAILED)
    assert isinstance(member.did(Raise)[0].error, BrokerError)
    assert member.owned() == frozenset()
