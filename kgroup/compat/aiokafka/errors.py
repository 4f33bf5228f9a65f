"""Our errors as those of aiokafka that callers already catch.

Decides: which of our errors is which of theirs: for a broker's code the class aiokafka has for it,
for everything else the row of a table. Where theirs says less than ours, a class that is more than
one of theirs, so that each `except` clause still fits.
Never: loses an error: ours is the `__cause__`, with all its data. Touches what is not ours, such
as what a deserialiser or a task's cancellation raised.
KIPs: 345 (fencing, which aiokafka has no class for).
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final

from aiokafka import errors as theirs
from aiokafka.structs import TopicPartition as TheirPartition

from kgroup import TopicPartition
from kgroup import errors as ours
from kgroup.codes import ErrorCode, error_name
from kgroup.compat.raising import Words, as_translated, in_the_same_words, is_over

__all__ = ["FencedInstanceIdError", "LoginFailedError", "translated", "translating"]


class LoginFailedError(theirs.AuthenticationFailedError, theirs.KafkaConnectionError):
    """A broker refused our login; aiokafka has a KafkaConnectionError for it in `start()`."""


class FencedInstanceIdError(theirs.BrokerResponseError):
    """Another member uses the same group instance id (KIP-345)."""

    errno = ErrorCode.FENCED_INSTANCE_ID.value
    message = ErrorCode.FENCED_INSTANCE_ID.name
    description = "Another member uses the same group instance id."


_SAME_WORDS: Final[Words] = MappingProxyType(
    {
        TimeoutError: theirs.KafkaTimeoutError,
        ours.ArgumentError: ValueError,
        ours.AssignmentError: theirs.KafkaError,
        ours.AuthenticationError: LoginFailedError,
        ours.ClosedError: theirs.ConsumerStoppedError,
        ours.CorruptRecordError: theirs.CorruptRecordException,
        ours.IllegalStateError: theirs.IllegalStateError,
        ours.KGroupError: theirs.KafkaError,
        ours.MissingExtraError: theirs.KafkaConfigurationError,
        ours.ProtocolError: theirs.KafkaProtocolError,
        ours.TransportError: theirs.KafkaConnectionError,
        ours.UnsupportedCodecError: theirs.UnsupportedCodecError,
        ours.UnsupportedVersionError: theirs.UnsupportedVersionError,
    }
)


def translating() -> AbstractContextManager[None]:
    """Raise what the body raises as aiokafka would; see `translated`."""
    return as_translated(translated)


def translated(error: BaseException) -> BaseException:
    """Return the error that aiokafka's users know for one of ours.

    Ours becomes its `__cause__`, except where the application's own deserialiser raised: callers
    know that exception itself, so it comes as it was, with a note that names the record.

    Args:
        error: anything; what is neither a `KGroupError` nor a `TimeoutError` comes back as it is.
    """
    if isinstance(error, ours.DeserializationError) and error.__cause__ is not None:
        return _of_the_application(error, error.__cause__)
    found = _of_its_own(error) or in_the_same_words(error, _SAME_WORDS)
    if found is None:
        return error
    found.__cause__ = error
    return found


def _of_its_own(error: BaseException) -> Exception | None:
    """Return what an error that carries data becomes."""
    match error:
        case ours.CommitFailedError():
            return _commit(error)
        case ours.ConfigError():
            return _config(error)
        case ours.FencedError():
            return FencedInstanceIdError(str(error))
        case ours.GroupError(code=int(code)):
            return _of_code(code, str(error))
        case ours.NoBrokerError():
            return _no_broker(error)
        case ours.UnauthorizedError():
            return _of_code(error.code, _one_or_all(error.resources))
        case ours.BrokerError():
            return _of_code(error.code, str(error))
    return _of_partitions(error)


def _of_partitions(error: BaseException) -> Exception | None:
    """Return what an error about positions becomes; aiokafka's carry partitions, not words."""
    match error:
        case ours.LogTruncatedError():
            return theirs.OffsetOutOfRangeError({_their(error.tp): error.position})
        case ours.NoOffsetError():
            return theirs.NoOffsetForPartitionError(_one_or_all(map(_their, error.partitions)))
        case ours.NotOwnedError():
            return _not_owned(error)
        case ours.OffsetOutOfRangeError():
            found = {_their(tp): offset for tp, offset in error.positions.items()}
            return theirs.OffsetOutOfRangeError(found)
    return None


def _of_the_application(error: ours.DeserializationError, cause: BaseException) -> BaseException:
    cause.add_note(str(error))
    # Raised again, it will know ours as its context: a circle would keep a reader's batch alive.
    error.__cause__ = error.__context__ = None
    return cause


def _of_code(code: int, *details: object) -> Exception:
    """Return what aiokafka makes of a broker's code."""
    if code == ErrorCode.FENCED_INSTANCE_ID:
        return FencedInstanceIdError(*details)
    kind = theirs.for_code(code)
    if kind is theirs.UnknownError:
        return theirs.UnknownError(f"{error_name(code)} ({code})", *details)
    return kind(*details)


def _config(error: ours.ConfigError) -> Exception:
    if error.option == "group_id" and error.value is None:
        return theirs.IllegalOperation("Requires group_id")
    return theirs.KafkaConfigurationError(str(error))


def _no_broker(error: ours.NoBrokerError) -> Exception:
    refused = isinstance(error.__cause__, ours.AuthenticationError)
    kind = LoginFailedError if refused else theirs.KafkaConnectionError
    return kind(f"Unable to bootstrap from {list(error.tried)}: {error}")


def _not_owned(error: ours.NotOwnedError) -> Exception:
    named = ", ".join(str(_their(tp)) for tp in error.partitions)
    what = f"Partition {named} is" if len(error.partitions) == 1 else f"Partitions {named} are"
    return theirs.IllegalStateError(f"{what} not assigned")


def _commit(error: ours.CommitFailedError) -> Exception:
    """Return the worst of it: a lost membership, no answer, other refusals, refused topics."""
    failed = error.outcome.failed()
    if is_over(failed.values()):
        return theirs.CommitFailedError(str(error))
    codes = [each.code for each in failed.values()]
    if None in codes:
        return theirs.RequestTimedOutError(str(error))
    other = [code for code in codes if code not in (None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    if other:
        return _of_code(other[0], str(error))
    return theirs.TopicAuthorizationFailedError({tp.topic for tp in failed})


def _their(tp: TopicPartition) -> TheirPartition:
    return TheirPartition(*tp)


def _one_or_all(named: Iterable[object]) -> object:
    """Return the argument that the original has: the only one, or the set of them."""
    found = set(named)
    return next(iter(found)) if len(found) == 1 else found
