"""Each of our errors, and what a program of aiokafka catches for it."""

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest
from aiokafka import errors as theirs
from aiokafka.structs import TopicPartition as TheirPartition

from kgroup import (
    CommitOutcome,
    CommitStatus,
    Generation,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup import errors as ours
from kgroup.codes import ErrorCode
from kgroup.compat.aiokafka.errors import (
    FencedInstanceIdError,
    LoginFailedError,
    translated,
    translating,
)

A, B = TopicPartition("t", 0), TopicPartition("u", 1)
THEIR_A, THEIR_B = TheirPartition("t", 0), TheirPartition("u", 1)
GENERATION = Generation("g", 3, "m")

REFUSED, UNKNOWN = CommitStatus.REFUSED, CommitStatus.UNKNOWN


def commit(*results: tuple[CommitStatus, int | None]) -> ours.CommitFailedError:
    """Return the failure of a commit of t-0, u-1 and one that was committed."""
    offset = OffsetAndMetadata(7)
    outcomes = {
        tp: PartitionOutcome(status, offset, code, "why")
        for tp, (status, code) in zip((A, B), results, strict=False)
    }
    good = PartitionOutcome(CommitStatus.COMMITTED, offset)
    return ours.CommitFailedError(CommitOutcome({TopicPartition("v", 2): good, **outcomes}))


def no_broker(cause: Exception | None) -> ours.NoBrokerError:
    error = ours.NoBrokerError({"a:1": "refused"}, 2.0, refused=cause is not None)
    error.__cause__ = cause
    return error


LOGIN = ours.AuthenticationError("a:1", "PLAIN", "SASL_AUTHENTICATION_FAILED (58)")
CODE = ErrorCode

ROWS: list[tuple[Exception, type[Exception], str]] = [
    (ours.ArgumentError("offset", -1, "at least 0"), ValueError, "offset: got -1"),
    (ours.AssignmentError("no"), theirs.KafkaError, "no"),
    (ours.AssignorError("zone", ["raised"]), theirs.KafkaError, "assignor 'zone' raised"),
    (LOGIN, LoginFailedError, "a:1: PLAIN"),
    (LOGIN, theirs.AuthenticationFailedError, "58"),
    (LOGIN, theirs.KafkaConnectionError, "58"),
    (
        ours.BrokerError("Fetch", CODE.CORRUPT_MESSAGE),
        theirs.CorruptRecordException,
        "Fetch: CORRUPT_MESSAGE",
    ),
    (ours.BrokerError("Fetch", CODE.INVALID_TOPIC_EXCEPTION), theirs.InvalidTopicError, "Fetch"),
    (ours.BrokerError("Fetch", CODE.FENCED_LEADER_EPOCH), theirs.UnknownError, "(74)"),
    (ours.ClosedError("the consumer is closed"), theirs.ConsumerStoppedError, "closed"),
    (ours.FencedWriteError(A, 1, 2), theirs.KafkaError, "owner 2"),
    (ours.LockLostError("zone", 1, 2), theirs.KafkaError, "grant 2"),
    (
        commit((REFUSED, CODE.ILLEGAL_GENERATION)),
        theirs.CommitFailedError,
        "t-0 refused (why)",
    ),
    (ours.ConfigError("group_id", None, "a name"), theirs.IllegalOperation, "Requires group_id"),
    (ours.ConfigError("assignors", (), "some"), theirs.KafkaConfigurationError, "'assignors'"),
    (ours.ConnectionLostError("a:1", "reset"), theirs.KafkaConnectionError, "a:1: reset"),
    (ours.NotConnectedError("a:1", "refused"), theirs.KafkaConnectionError, "a:1: refused"),
    (ours.CoordinationTopicError("m", "gone"), theirs.KafkaError, "gone"),
    (ours.CorruptRecordError("a batch", "CRC"), theirs.CorruptRecordException, "a batch: CRC"),
    (ours.DecodeError("a frame", "short"), theirs.KafkaProtocolError, "a frame: short"),
    (
        ours.DeserializationError(A, 7, "value", key=None, value=b"x"),
        theirs.KafkaError,
        "offset 7",
    ),
    (ours.FencedError("a twin", generation=GENERATION), FencedInstanceIdError, "a twin"),
    (ours.FencedError("a twin"), theirs.BrokerResponseError, "[Error 82]"),
    (
        ours.GroupError("refused", code=CODE.INVALID_SESSION_TIMEOUT),
        theirs.InvalidSessionTimeoutError,
        "refused",
    ),
    (
        ours.GroupError("refused", code=CODE.INCONSISTENT_GROUP_PROTOCOL),
        theirs.InconsistentGroupProtocolError,
        "refused",
    ),
    (ours.GroupError("refused", code=CODE.INVALID_GROUP_ID), theirs.InvalidGroupIdError, "refused"),
    (
        ours.GroupError("refused", code=CODE.GROUP_MAX_SIZE_REACHED),
        theirs.UnknownError,
        "GROUP_MAX_SIZE_REACHED (81)",
    ),
    (ours.GroupError("it ended"), theirs.KafkaError, "it ended"),
    (ours.IllegalStateError("not now"), theirs.IllegalStateError, "not now"),
    (ours.KGroupError("whatever"), theirs.KafkaError, "whatever"),
    (ours.LocalProtocolError("our bug"), theirs.KafkaProtocolError, "our bug"),
    (ours.LogTruncatedError(A, 9, 1, 7), theirs.OffsetOutOfRangeError, repr({THEIR_A: 9})),
    (ours.MissingExtraError("x", "y"), theirs.KafkaConfigurationError, "pip install"),
    (no_broker(None), theirs.KafkaConnectionError, "Unable to bootstrap from ['a:1']"),
    (no_broker(LOGIN), LoginFailedError, "Unable to bootstrap from ['a:1']"),
    (ours.NoOffsetError([A]), theirs.NoOffsetForPartitionError, repr(THEIR_A)),
    (ours.NotOwnedError([A], "it is not owned"), theirs.IllegalStateError, "is not assigned"),
    (ours.NotOwnedError([A, B], "why"), theirs.IllegalStateError, "are not assigned"),
    (ours.OffsetOutOfRangeError({A: 9}), theirs.OffsetOutOfRangeError, repr({THEIR_A: 9})),
    (ours.ProtocolError("nonsense"), theirs.KafkaProtocolError, "nonsense"),
    (ours.TlsError("a:1", "untrusted"), theirs.KafkaConnectionError, "untrusted"),
    (ours.TransportError("lost"), theirs.KafkaConnectionError, "lost"),
    (
        ours.UnauthorizedError("Metadata", CODE.TOPIC_AUTHORIZATION_FAILED, ["t"]),
        theirs.TopicAuthorizationFailedError,
        "t",
    ),
    (
        ours.UnauthorizedError("JoinGroup", CODE.GROUP_AUTHORIZATION_FAILED, ["g"]),
        theirs.GroupAuthorizationFailedError,
        "g",
    ),
    (
        ours.UnauthorizedError("Metadata", CODE.CLUSTER_AUTHORIZATION_FAILED, []),
        theirs.ClusterAuthorizationFailedError,
        "",
    ),
    (ours.UnsupportedCodecError("a batch", "codec 9"), theirs.UnsupportedCodecError, "codec 9"),
    (ours.UnsupportedError("not here"), theirs.KafkaError, "not here"),
    (
        ours.UnsupportedVersionError("ListOffsets", "too old"),
        theirs.UnsupportedVersionError,
        "ListOffsets: too old",
    ),
    (ours.WakeupError(), theirs.KafkaError, "woken"),
    (TimeoutError("metadata: no answer"), theirs.KafkaTimeoutError, "no answer"),
]


@pytest.mark.parametrize(
    ("error", "kind", "text"), ROWS, ids=[f"{type(e).__name__}-{k.__name__}" for e, k, _ in ROWS]
)
def test_an_error_is_one_that_programs_of_aiokafka_catch(
    error: Exception, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught, translating():
        raise error
    assert text in str(caught.value)
    assert caught.value.__cause__ is error
    assert not isinstance(caught.value, ours.KGroupError)


def test_every_error_of_ours_has_a_row() -> None:
    assert {type(error).__name__ for error, _, _ in ROWS} >= set(ours.__all__)


@pytest.mark.parametrize("code", sorted(theirs.kafka_errors))
def test_a_code_is_the_class_that_aiokafka_has_for_it(code: int) -> None:
    assert type(translated(ours.BrokerError("Fetch", code))) is theirs.for_code(code)


def test_the_class_for_fenced_members_is_not_among_aiokafkas_own() -> None:
    assert theirs.for_code(FencedInstanceIdError.errno) is theirs.UnknownError


# -- arguments that programs read --------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "argument"),
    [
        (ours.OffsetOutOfRangeError({A: 9, B: 4}), {THEIR_A: 9, THEIR_B: 4}),
        (ours.NoOffsetError([A]), THEIR_A),
        (ours.NoOffsetError([A, B]), {THEIR_A, THEIR_B}),
        (ours.UnauthorizedError("Fetch", CODE.TOPIC_AUTHORIZATION_FAILED, ["t"]), "t"),
        (ours.UnauthorizedError("Fetch", CODE.TOPIC_AUTHORIZATION_FAILED, ["t", "u"]), {"t", "u"}),
        (commit((REFUSED, CODE.TOPIC_AUTHORIZATION_FAILED)), {"t"}),
    ],
    ids=["range", "offset", "offsets", "topic", "topics", "commit"],
)
def test_what_aiokafka_says_in_an_argument_stands_there(error: Exception, argument: Any) -> None:
    assert translated(error).args == (argument,)


# -- commits -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("results", "kind"),
    [
        ([(REFUSED, CODE.UNKNOWN_MEMBER_ID)], theirs.CommitFailedError),
        ([(REFUSED, CODE.REBALANCE_IN_PROGRESS)], theirs.CommitFailedError),
        ([(REFUSED, None)], theirs.CommitFailedError),  # its claim is over
        ([(UNKNOWN, None)], theirs.RequestTimedOutError),
        ([(REFUSED, CODE.OFFSET_METADATA_TOO_LARGE)], theirs.OffsetMetadataTooLargeError),
        ([(REFUSED, CODE.GROUP_AUTHORIZATION_FAILED)], theirs.GroupAuthorizationFailedError),
        ([(REFUSED, CODE.FENCED_INSTANCE_ID)], FencedInstanceIdError),
        ([(UNKNOWN, None), (REFUSED, CODE.ILLEGAL_GENERATION)], theirs.CommitFailedError),
        (
            [(REFUSED, CODE.TOPIC_AUTHORIZATION_FAILED), (UNKNOWN, None)],
            theirs.RequestTimedOutError,
        ),
        (
            [
                (REFUSED, CODE.TOPIC_AUTHORIZATION_FAILED),
                (REFUSED, CODE.OFFSET_METADATA_TOO_LARGE),
            ],
            theirs.OffsetMetadataTooLargeError,
        ),
    ],
    ids=str,
)
def test_of_several_partitions_the_worst_names_the_error(
    results: list[tuple[CommitStatus, int | None]], kind: type[Exception]
) -> None:
    assert type(translated(commit(*results))) is kind


# -- what is not ours --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        KeyError("k"),
        theirs.ConsumerStoppedError(),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
def test_what_is_not_ours_comes_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, translating():
        raise error
    assert caught.value is error
    assert error.__cause__ is None


def refused_by_json() -> ours.DeserializationError:
    error = ours.DeserializationError(A, 7, "value", key=None, value=b"{")
    try:
        json.loads(b"{")
    except ValueError as cause:
        error.__cause__ = cause
    return error


def test_what_a_deserialiser_raised_comes_as_it_was_and_names_the_record() -> None:
    error = refused_by_json()
    cause = error.__cause__
    with pytest.raises(json.JSONDecodeError) as caught, translating():
        raise error
    assert caught.value is cause
    assert caught.value.__cause__ is None
    assert "t-0: the value of the record at offset 7" in caught.value.__notes__[0]


def test_what_a_deserialiser_raised_leaves_no_circle_behind() -> None:
    gone: list[weakref.ref[BaseException]] = []
    gc.disable()
    try:
        try:
            with translating():
                raise refused_by_json()
        except ValueError as error:
            gone += [weakref.ref(each) for each in (error, error.__context__) if each]
        assert len(gone) == 2
        assert [each() for each in gone] == [None, None]
    finally:
        gc.enable()
