"""Our errors as those of kafka-python that programs catch."""

import pytest
from kafka import errors as theirs
from kafka.structs import OffsetAndMetadata, TopicPartition

from kgroup import CommitOutcome, CommitStatus, PartitionOutcome
from kgroup import OffsetAndMetadata as OurOffset
from kgroup import TopicPartition as OurPartition
from kgroup import errors as ours
from kgroup.codes import ErrorCode
from kgroup.compat.kafka_python.errors import asking_logs, of_outcome, translated, translating

TP = OurPartition("t", 0)


def outcome(status: CommitStatus, code: int | None) -> CommitOutcome:
    return CommitOutcome({TP: PartitionOutcome(status, OurOffset(1), code, "so")})


def broker(code: ErrorCode) -> ours.BrokerError:
    return ours.BrokerError("FETCH", code)


def group(code: ErrorCode) -> ours.GroupError:
    return ours.GroupError("no", code=code)


def unauthorised() -> ours.UnauthorizedError:
    return ours.UnauthorizedError("FETCH", ErrorCode.TOPIC_AUTHORIZATION_FAILED, ["t"])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("late"), theirs.KafkaTimeoutError),
        (broker(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), theirs.UnknownTopicOrPartitionError),
        (ours.ClosedError("closed"), theirs.IllegalStateError),
        (ours.ConfigError("group_id", None, "a name"), theirs.IllegalStateError),
        (ours.CorruptRecordError("batch", "bad"), theirs.CorruptRecordError),
        (ours.FencedError("fenced"), theirs.FencedInstanceIdError),
        (group(ErrorCode.INVALID_SESSION_TIMEOUT), theirs.InvalidSessionTimeoutError),
        (group(ErrorCode.GROUP_MAX_SIZE_REACHED), theirs.GroupMaxSizeReachedError),
        (ours.NoBrokerError({}, 1.0), theirs.KafkaTimeoutError),
        (ours.NoOffsetError([TP]), theirs.NoOffsetForPartitionError),
        (ours.OffsetOutOfRangeError({TP: 5}), theirs.OffsetOutOfRangeError),
        (unauthorised(), theirs.TopicAuthorizationFailedError),
        (ours.UnsupportedCodecError("batch", "codec 9"), theirs.UnsupportedCodecError),
        (ours.KGroupError("what"), theirs.KafkaError),
    ],
)
def test_each_error_has_its_counterpart(error: Exception, kind: type[Exception]) -> None:
    found = translated(error)
    assert type(found) is kind
    assert found.__cause__ is error


def test_truncation_says_where_it_is_safe_to_go_on() -> None:
    found = translated(ours.LogTruncatedError(TP, 9, 1, 7))
    assert isinstance(found, theirs.LogTruncationError)
    assert found.divergent_offsets == {TopicPartition("t", 0): OffsetAndMetadata(7, "", -1)}


def test_errors_carry_what_those_of_kafka_python_carry() -> None:
    place = TopicPartition("t", 0)
    assert translated(ours.OffsetOutOfRangeError({TP: 5})).args == ({place: 5},)
    assert translated(ours.NoOffsetError([TP])).args == ({place},)
    assert translated(unauthorised()).args == ({"t"},)


def test_what_is_not_ours_is_not_touched() -> None:
    with pytest.raises(LookupError), translating():
        raise LookupError("theirs")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (CommitStatus.REFUSED, None, theirs.CommitFailedError),
        (CommitStatus.REFUSED, ErrorCode.UNKNOWN_MEMBER_ID, theirs.CommitFailedError),
        (CommitStatus.REFUSED, ErrorCode.INVALID_GROUP_ID, theirs.InvalidGroupIdError),
        (CommitStatus.UNKNOWN, None, theirs.KafkaTimeoutError),
        (CommitStatus.COMMITTED, None, type(None)),
    ],
)
def test_a_commit_raises_what_became_of_it(
    status: CommitStatus, code: int | None, kind: type
) -> None:
    assert type(of_outcome(outcome(status, code))) is kind


def test_a_partition_that_there_is_not_is_asked_for_in_vain() -> None:
    with pytest.raises(theirs.KafkaTimeoutError), asking_logs():
        raise ours.BrokerError("LIST_OFFSETS", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    with pytest.raises(theirs.NotLeaderForPartitionError), asking_logs():
        raise ours.BrokerError("LIST_OFFSETS", ErrorCode.NOT_LEADER_OR_FOLLOWER)
