"""A group this principal may not read: no end, but an error for as long as it lasts."""

from collections.abc import Callable

import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, UnauthorizedError
from kgroup.machine.commits import read_commit
from kgroup.machine.reactions import Reaction
from kgroup.membership.events import CommitRejected, EnforceRebalance, Note, Raise, Tell, Tick
from kgroup.types import (
    Cause,
    ChangeKind,
    CommitStatus,
    MemberState,
    OffsetAndMetadata,
    TopicPartition,
)
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    JoinGroupRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.membership.driver import HEARTBEAT, SESSION, Driven, partitions

CLOSED = ErrorCode.GROUP_AUTHORIZATION_FAILED


def searching() -> Driven:
    member = Driven()
    member.subscribe()
    member.found(CLOSED)
    return member


def joining() -> Driven:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(code=CLOSED)
    return member


def syncing() -> Driven:
    member = Driven().join("t-0")
    member.on(EnforceRebalance("x"))
    member.joined(2)
    member.synced(code=CLOSED)
    return member


def beating() -> Driven:
    member = Driven().join("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat(CLOSED)
    return member


def committing() -> Driven:
    member = Driven().join("t-0")
    generation = member.member.identity.generation
    assert generation is not None
    member.on(CommitRejected(Reaction.UNAUTHORIZED, generation, CLOSED))
    return member


WAYS: dict[str, Callable[[], Driven]] = {
    "FIND_COORDINATOR": searching,
    "JOIN_GROUP": joining,
    "SYNC_GROUP": syncing,
    "HEARTBEAT": beating,
    "OFFSET_COMMIT": committing,
}


@pytest.mark.parametrize("api", WAYS)
def test_a_closed_group_is_trouble_and_no_end(api: str) -> None:
    member = WAYS[api]()
    trouble = member.member.trouble
    assert isinstance(trouble, UnauthorizedError)
    assert (trouble.api, trouble.code) == (api, CLOSED)
    assert "group 'g'" in str(trouble)
    assert trouble.resources == ("g",)
    assert member.did(Raise) == []
    assert [each.note for each in member.did(Tell)] == [Note.NOT_PERMITTED]


def test_a_search_is_repeated_at_the_longest_pause_and_success_ends_the_trouble() -> None:
    member = searching()
    for count in range(2, 5):
        assert member.deadline - member.now == pytest.approx(1.0)
        member.on(Tick(), after=1.0)
        assert len(member.sent(FindCoordinatorRequest)) == count
        member.found(CLOSED)
    assert len(member.did(Tell)) == 1, "said once"
    member.on(Tick(), after=1.0)
    member.found()
    assert member.member.trouble is None
    member.expect(MemberState.JOINING)


@pytest.mark.parametrize("way", [joining, syncing])
def test_a_round_is_repeated_at_the_longest_pause(way: Callable[[], Driven]) -> None:
    member = way()
    member.expect(MemberState.BACKING_OFF)
    assert member.member.round.retry_at - member.now == pytest.approx(1.0)
    joins = len(member.sent(JoinGroupRequest))
    member.on(Tick(), after=1.0)
    member.expect(MemberState.JOINING)
    assert len(member.sent(JoinGroupRequest)) == joins + 1


def test_a_member_id_that_is_given_ends_the_trouble_of_joining() -> None:
    member = joining()
    member.on(Tick(), after=1.0)
    member.joined(0, code=ErrorCode.MEMBER_ID_REQUIRED)
    assert member.member.trouble is None


def test_a_round_that_is_served_ends_the_trouble() -> None:
    member = syncing()
    member.on(Tick(), after=1.0)
    member.joined(3)
    assert member.member.trouble is None


def test_a_heartbeat_that_is_answered_ends_the_trouble() -> None:
    member = beating()
    member.expect(MemberState.STABLE)
    claim = member.claim("t-0")
    member.on(Tick(), after=HEARTBEAT)
    member.beat()
    assert member.member.trouble is None
    assert member.member.may_deliver(claim, member.now)


def test_refused_heartbeats_let_the_lease_run_out_and_everything_is_lost_by_the_clock() -> None:
    member = Driven().join("t-0")
    proved_at = member.now
    while not member.calls():
        member.on(Tick(), after=0.5)
        if member.member.heartbeat is not None:
            member.beat(CLOSED)
        assert member.now < proved_at + SESSION
    assert member.calls() == [(ChangeKind.LOST, partitions("t-0"))]
    assert member.member.changes[0].cause is Cause.SESSION_EXPIRED
    assert member.member.trouble is not None


def test_finding_the_coordinator_does_not_end_the_trouble_of_joining() -> None:
    member = joining()
    member.on(Tick(), after=1.0)
    member.joined(code=ErrorCode.NOT_COORDINATOR)
    member.on(Tick(), after=2.0)
    member.found()
    assert member.member.trouble is not None


# -- commits ------------------------------------------------------------------------------------


def commit_answer(**codes: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic,
                partitions=(OffsetCommitResponsePartition(partition_index=0, error_code=code),),
            )
            for topic, code in codes.items()
        )
    )


def test_a_topic_that_is_closed_refuses_its_own_partitions_only() -> None:
    asked = {TopicPartition(topic, 0): OffsetAndMetadata(1) for topic in "tu"}
    answer = commit_answer(t=ErrorCode.TOPIC_AUTHORIZATION_FAILED, u=0)
    read = read_commit(asked, answer)
    assert {tp.topic: each.status for tp, each in read.outcomes.items()} == {
        "t": CommitStatus.REFUSED,
        "u": CommitStatus.COMMITTED,
    }
    assert read.signal is None, "the group is open"


def test_a_group_that_is_closed_to_commits_shows_as_trouble_of_the_membership() -> None:
    asked = {TopicPartition("t", 0): OffsetAndMetadata(1)}
    read = read_commit(asked, commit_answer(t=CLOSED))
    assert read.signal is Reaction.UNAUTHORIZED
    assert read.outcomes[TopicPartition("t", 0)].status is CommitStatus.REFUSED


# -- what refusals for good say -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            ErrorCode.INVALID_SESSION_TIMEOUT,
            [
                "session_timeout is 10 s (10000 ms)",
                "group.min.session.timeout.ms (6000",
                "group.max.session.timeout.ms (1800000",
            ],
        ),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, ["group.max.size", "close one"]),
        (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ["'cooperative-sticky'", "set assignors"]),
        (ErrorCode.INVALID_GROUP_ID, ["group_id"]),
    ],
)
def test_a_refusal_for_good_names_the_value_and_the_way_out(
    code: ErrorCode, words: list[str]
) -> None:
    member = Driven()
    member.subscribe()
    member.found()
    member.joined(code=code)
    (raised,) = member.did(Raise)
    assert isinstance(raised.error, BrokerError)
    assert raised.error.code == code
    assert [word for word in ["group 'g'", *words] if word not in str(raised.error)] == []
