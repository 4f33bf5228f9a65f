import pytest

from kgroup.audit.oracles import judge
from kgroup.codes import ApiKey
from kgroup.journal import (
    AnswerReceived,
    ClaimsEnded,
    ConnectionClosed,
    RequestSent,
)
from kgroup.types import Cause, ChangeKind
from tests.audit.histories import Writer, one_member, tp
from tests.search.oracles.lease import LeaseHeld


def rules(member: Writer, slack: float = 0.0) -> list[str]:
    return [found.rule for found in judge([LeaseHeld(slack)], member.history.entries)]


def test_s3_a_delivery_just_inside_the_session_is_fine_and_just_outside_is_not():
    for wait, expected in ((5.8, []), (6.0, ["S3"])):
        history, member = one_member(0)
        history.wait(wait)
        member.deliver(0, 1)
        assert rules(member) == expected


def test_s3_slack_forgives_late_stamps():
    history, member = one_member(0)
    history.wait(6.0)
    member.deliver(0, 1)
    assert rules(member, slack=1.0) == []


def test_s3_rebalance_in_progress_renews_the_session_but_not_the_round():
    history, member = one_member(0)
    for _ in range(3):
        history.wait(3.0)
        member.heartbeat(error=27)
    member.deliver(0, 1)
    assert rules(member) == []
    history.wait(3.0)
    member.heartbeat(error=27)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


@pytest.mark.parametrize("error", [16, 22, 25])
def test_s3_a_refused_heartbeat_proves_nothing(error: int):
    history, member = one_member(0)
    history.wait(4.0)
    member.heartbeat(error=error)
    history.wait(2.0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_the_sending_of_a_heartbeat_counts_and_not_its_answer():
    history, member = one_member(0)
    beat = RequestSent(
        connection=1, correlation_id=99, api=ApiKey.HEARTBEAT, version=4, generation_id=1
    )
    member.write(beat)
    history.wait(5.0)
    member.write(
        AnswerReceived(connection=1, correlation_id=99, api=ApiKey.HEARTBEAT, version=4, error=0)
    )
    history.wait(1.5)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_an_answer_on_another_connection_with_the_same_number_proves_nothing():
    history, member = one_member(0)
    history.wait(5.0)
    member.write(
        RequestSent(
            connection=1, correlation_id=99, api=ApiKey.HEARTBEAT, version=4, generation_id=1
        )
    )
    member.write(ConnectionClosed(connection=1, reason="test"))
    member.write(
        AnswerReceived(connection=2, correlation_id=99, api=ApiKey.HEARTBEAT, version=4, error=0)
    )
    history.wait(1.5)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_a_heartbeat_of_an_old_generation_does_not_renew_the_round():
    history, member = one_member(0)
    for _ in range(4):
        history.wait(2.9)
        member.ask(ApiKey.HEARTBEAT, generation=0)
    member.deliver(0, 1)
    assert rules(member) == ["S3"]


def test_s3_there_is_no_lease_before_the_first_answered_heartbeat_and_after_a_loss():
    history, member = one_member(0, 1)
    member.decide_loss(0)
    member.deliver(1, 1)
    assert rules(member) == ["S3"]
    assert history.entries[-2].event.KIND == "deliver"


@pytest.mark.parametrize(
    ("cause", "wait", "expected"),
    [
        (Cause.ASSIGNED, 0.0, []),
        (Cause.ASSIGNED, 6.0, ["S3"]),
        (Cause.GENERATION_STALE, 0.0, ["S3"]),
    ],
)
def test_s3_a_member_that_cannot_read_its_assignment_loses_what_it_had_and_stays(
    cause: Cause, wait: float, expected: list[str]
) -> None:
    """1. A heartbeat is answered; 2. what the round assigns cannot be read: all is lost, but not
    the place in the group; 3. the next round gives something, and records, before a heartbeat."""
    history, member = one_member(0)
    member.generation = 2
    claims = (member.claims[tp(0)],)
    member.write(ClaimsEnded(kind=ChangeKind.LOST, claims=claims, cause=cause.value))
    history.wait(wait)
    for api in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP):
        member.ask(api, generation=3)
    member.generation = 3
    member.assign(0, offset=0)
    member.deliver(0, 1)
    assert rules(member) == expected
