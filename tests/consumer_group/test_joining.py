"""How a member of a KIP-848 group comes in: the first heartbeat, and what stands in its way."""

import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer_group.events import Note, RequestFailed, Send
from kgroup.consumer_group.settings import ASSUMED_SESSION
from kgroup.errors import BrokerError, UnauthorizedError, UnsupportedVersionError
from kgroup.machine.wishes import Drained, Errand, ListenerDone, Raise, Tell
from kgroup.types import ChangeKind, MemberState
from tests.consumer_group.driver import (
    INTERVAL,
    LOST,
    MEMBER_ID,
    REBALANCE,
    Driven,
    partitions,
    settings,
)


def arriving(**options: object) -> Driven:
    member = Driven(settings(**options))
    member.subscribe("t", "u")
    member.found()
    return member


def test_the_first_heartbeat_joins_with_epoch_0_and_an_id_of_its_own_and_says_everything() -> None:
    member = arriving(server_assignor="range", client_rack="r1", group_instance_id="i1")
    beat = member.beat
    assert (beat.member_id, beat.member_epoch, beat.instance_id) == (MEMBER_ID, 0, "i1")
    assert beat.subscribed_topic_names == ("t", "u")
    assert beat.rebalance_timeout_ms == REBALANCE * 1000
    assert (beat.server_assignor, beat.rack_id, beat.topic_partitions) == ("range", "r1", ())


def test_an_assignment_is_announced_acknowledged_and_then_handed_out() -> None:
    member = arriving()
    member.answer(2, "t-0", "t-1")
    member.expect(MemberState.RECONCILING)
    assert member.calls() == [(ChangeKind.ASSIGNED, partitions("t-0", "t-1"))]
    member.settle()
    member.tick()
    assert member.listed() == partitions("t-0", "t-1")
    assert member.delivers("t-0", "t-1") == [False, False]
    member.answer(2)
    member.expect(MemberState.STABLE)
    assert member.delivers("t-0", "t-1") == [True, True]


def test_nothing_is_handed_out_before_on_assigned_has_returned() -> None:
    member = arriving()
    member.answer(2, "t-0")
    member.tick()
    member.answer(2)
    assert member.delivers("t-0") == [False]
    member.settle()
    assert member.delivers("t-0") == [True]


def test_an_empty_assignment_is_heard_of_too() -> None:
    member = arriving()
    member.answer(2, given=True)
    assert member.calls() == [(ChangeKind.ASSIGNED, frozenset())]


def test_a_heartbeat_says_only_what_changed() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    beat = member.beat
    assert beat.member_epoch == 2
    assert (beat.subscribed_topic_names, beat.topic_partitions) == (None, None)
    assert (beat.rebalance_timeout_ms, beat.server_assignor) == (-1, None)


def test_the_interval_is_the_coordinators() -> None:
    member = Driven().join("t-0")
    sent_at = member.now
    member.answer(2)
    member.due_beat()
    assert member.now - sent_at == pytest.approx(INTERVAL, abs=0.01)


def test_a_lost_answer_is_asked_for_again_with_everything() -> None:
    member = arriving()
    member.fail()
    member.expect(MemberState.FINDING)
    member.next()
    member.found()
    assert member.beat.member_epoch == 0
    assert member.beat.subscribed_topic_names == ("t", "u")


def test_a_loading_coordinator_is_asked_again_after_a_pause() -> None:
    member = arriving()
    member.answer(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.expect(MemberState.BACKING_OFF)
    member.next()
    member.expect(MemberState.JOINING)


def test_a_coordinator_that_refuses_each_epoch_it_gives_is_not_asked_without_end() -> None:
    member = arriving()
    begun = member.now
    for _ in range(30):
        member.answer(2, given=True)
        member.due_beat()
        member.answer(code=ErrorCode.FENCED_MEMBER_EPOCH)
        while member.member.state is not MemberState.JOINING:
            member.next()
    assert member.now - begun > 10.0


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (ErrorCode.UNSUPPORTED_ASSIGNOR, "ServerAssignor no-such is not supported."),
        (ErrorCode.INVALID_REGULAR_EXPRESSION, "missing closing ]"),
        (ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, "group.consumer.max.size"),
        (ErrorCode.UNSUPPORTED_VERSION, "group_protocol='classic'"),
        (ErrorCode.GROUP_ID_NOT_FOUND, "group.consumer.migration.policy"),
    ],
)
def test_a_refusal_ends_the_membership_and_says_why(code: ErrorCode, text: str) -> None:
    member = arriving()
    member.answer(code=code, text=text)
    member.expect(MemberState.FAILED)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, BrokerError)
    assert raised.error.code == code
    assert text.rstrip(".") in str(raised.error)


def test_a_broker_without_the_protocol_is_named_with_the_way_out() -> None:
    member = arriving()
    member.fail(UnsupportedVersionError("CONSUMER_GROUP_HEARTBEAT", "the broker does not offer it"))
    member.expect(MemberState.FAILED)
    (raised,) = member.did(Raise)
    assert "group_protocol='classic'" in str(raised.error)


@pytest.mark.parametrize(
    ("code", "right"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "READ"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "DESCRIBE"),
    ],
)
def test_a_missing_right_is_told_and_asked_for_again(code: ErrorCode, right: str) -> None:
    member = arriving()
    member.answer(code=code)
    member.expect(MemberState.BACKING_OFF)
    assert isinstance(member.member.trouble, UnauthorizedError)
    assert right in str(member.member.trouble)
    member.next()
    member.answer(2, given=True)
    assert member.member.trouble is None


def test_a_taken_instance_id_is_waited_for_and_told_once() -> None:
    member = arriving(group_instance_id="i1")
    for _ in range(3):
        member.answer(code=ErrorCode.UNRELEASED_INSTANCE_ID, text="owned by x")
        member.expect(MemberState.BACKING_OFF)
        member.next()
    assert [each.note for each in member.did(Tell)] == [Note.INSTANCE_IN_USE]
    member.answer(2, "t-0")
    assert member.owned() == partitions("t-0")


# -- the session ---------------------------------------------------------------------------


def test_the_session_that_brokers_tell_is_what_the_lease_counts_with() -> None:
    member = Driven(settings(session_timeout=None))
    member.subscribe()
    assert member.did(Send)[-1].look
    member.found(session=7.0)
    assert member.member.lease.session_timeout == 7.0
    assert member.did(Tell) == []


def test_a_session_that_nobody_tells_is_assumed_and_said_once() -> None:
    member = Driven(settings(session_timeout=None))
    member.subscribe()
    member.found()
    member.fail()
    member.next()
    assert not member.did(Send)[-1].look
    member.found()
    assert member.member.lease.session_timeout == ASSUMED_SESSION
    assert [each.note for each in member.did(Tell)] == [Note.SESSION_ASSUMED]


def test_a_session_that_was_asked_for_in_vain_is_asked_for_again_before_the_member_joins() -> None:
    member = Driven(settings(session_timeout=None))
    member.subscribe()
    member.on(RequestFailed(member.ticket(Errand.FIND_COORDINATOR), LOST))
    member.expect(MemberState.FINDING)
    member.next()
    assert member.did(Send)[-1].look
    assert member.beats() == []


def test_a_session_that_is_given_is_not_asked_for() -> None:
    member = arriving()
    assert not any(each.look for each in member.did(Send))


def test_a_subscription_that_changes_while_the_join_is_out_is_said_next() -> None:
    member = arriving()
    member.subscribe("t")
    member.answer(2, "t-0", "u-0")
    assert member.owned() == partitions("t-0")
    member.settle()
    member.tick()
    assert member.beat.subscribed_topic_names == ("t",)


def test_a_member_waits_for_a_listener_that_works_on_what_was_lost() -> None:
    member = Driven().join("t-0")
    member.due_beat()
    member.answer(2, given=True)
    draining = member.member.holdings.claims
    member.on(Drained(draining))
    (revoke,) = member.member.changes
    member.next()
    member.answer(code=ErrorCode.UNKNOWN_MEMBER_ID)
    member.expect(MemberState.PREPARING)
    joins = [beat for beat in member.beats() if beat.member_epoch == 0]
    member.on(ListenerDone(revoke.serial))
    member.expect(MemberState.JOINING)
    assert len([beat for beat in member.beats() if beat.member_epoch == 0]) == len(joins) + 1


def test_the_search_for_the_coordinator_is_one_question_at_a_time() -> None:
    member = Driven()
    member.subscribe()
    member.subscribe("t", "u")
    assert [each.ticket.errand for each in member.did(Send)] == [Errand.FIND_COORDINATOR]
