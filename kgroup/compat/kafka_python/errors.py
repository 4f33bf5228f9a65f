"""Our errors as those of kafka-python that callers already catch.

Decides: which of our errors is which of theirs: for a broker's code the class kafka-python has for
it, for everything else the row of a table.
Never: loses an error: ours is the `__cause__`, with all its data. Touches what is not ours.
KIPs: 320 (truncation), 345 (fencing).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import Final

from kafka import errors as theirs
from kafka.structs import OffsetAndMetadata as TheirOffset
from kafka.structs import TopicPartition as TheirPartition

from kgroup import errors as ours
from kgroup.codes import ErrorCode
from kgroup.compat.raising import Words, as_translated, in_the_same_words, is_over
from kgroup.types import CommitOutcome

__all__ = ["asking_logs", "of_outcome", "translated", "translating"]

_SAME_WORDS: Final[Words] = MappingProxyType(
    {
        TimeoutError: theirs.KafkaTimeoutError,
        ours.ArgumentError: ValueError,
        ours.AuthenticationError: theirs.SaslAuthenticationFailedError,
        ours.ClosedError: theirs.IllegalStateError,
        ours.ConfigError: theirs.KafkaConfigurationError,
        ours.CorruptRecordError: theirs.CorruptRecordError,
        ours.FencedError: theirs.FencedInstanceIdError,
        ours.IllegalStateError: theirs.IllegalStateError,
        ours.KGroupError: theirs.KafkaError,
        ours.NotOwnedError: theirs.IllegalStateError,
        ours.ProtocolError: theirs.KafkaProtocolError,
        ours.TransportError: theirs.KafkaConnectionError,
        ours.UnsupportedCodecError: theirs.UnsupportedCodecError,
        ours.UnsupportedVersionError: theirs.UnsupportedVersionError,
    }
)


def translating() -> AbstractContextManager[None]:
    """Raise what the body raises as kafka-python would; see `translated`."""
    return as_translated(translated)


def translated(error: BaseException) -> BaseException:
    """Return the error that kafka-python's users know for one of ours, which is its `__cause__`.

    Args:
        error: anything; what is neither a `KGroupError` nor a `TimeoutError` comes back as it is.
    """
    found = _of_its_own(error) or in_the_same_words(error, _SAME_WORDS)
    if found is None:
        return error
    found.__cause__ = error
    return found


@contextmanager
def asking_logs() -> Iterator[None]:
    """As `translating`; a partition that there is not is asked for until the time is over.

    As in kafka-python, where it may still be made: what was asked ends with KafkaTimeoutError.
    """
    with translating():
        try:
            yield
        except ours.BrokerError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            raise TimeoutError(str(error)) from error


def of_outcome(outcome: CommitOutcome) -> Exception | None:
    """Return what kafka-python raises for what became of a commit, None when it was committed.

    The worst of it: a lost membership, a broker's refusal, no answer.
    """
    failed = outcome.failed().values()
    if not failed:
        return None
    text = repr(outcome)
    if is_over(failed):
        return theirs.CommitFailedError(text)
    codes = [each.code for each in failed if each.code is not None]
    return _of_code(codes[0], text) if codes else theirs.KafkaTimeoutError(text)


def _of_its_own(error: BaseException) -> Exception | None:
    """Return what an error that carries data becomes."""
    match error:
        case ours.CommitFailedError():
            return of_outcome(error.outcome)
        case ours.ConfigError(option="group_id", value=None):
            return theirs.IllegalStateError("Requires group_id")
        case ours.FencedError():
            return None
        case ours.UnauthorizedError(code=ErrorCode.TOPIC_AUTHORIZATION_FAILED):
            return theirs.TopicAuthorizationFailedError(set(error.resources))
        case ours.GroupError(code=int(code)) | ours.BrokerError(code=code):
            return _of_code(code, str(error))
        case ours.LogTruncatedError():
            return theirs.LogTruncationError({TheirPartition(*error.tp): _diverged(error)})
        case ours.NoBrokerError():
            refused = isinstance(error.__cause__, ours.AuthenticationError)
            kind = theirs.SaslAuthenticationFailedError if refused else theirs.KafkaTimeoutError
            return kind(f"Unable to bootstrap: {error}")
        case ours.NoOffsetError():
            return theirs.NoOffsetForPartitionError(
                {TheirPartition(*tp) for tp in error.partitions}
            )
        case ours.OffsetOutOfRangeError():
            found = {TheirPartition(*tp): offset for tp, offset in error.positions.items()}
            return theirs.OffsetOutOfRangeError(found)
    return None


def _diverged(error: ours.LogTruncatedError) -> TheirOffset | None:
    return None if error.diverged_at is None else TheirOffset(error.diverged_at, "", -1)


def _of_code(code: int, *details: object) -> Exception:
    """Return what kafka-python makes of a broker's code."""
    found: Exception = theirs.for_code(code)(*details)
    return found
