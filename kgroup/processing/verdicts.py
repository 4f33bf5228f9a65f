"""What to do with a record that did not finish, and the headers that it takes along.

Decides: whether it is tried again, given up, sent to the end of its partition, or sent to the
topic of dead letters; what those headers say.
Never: reads a clock, waits or writes.

A header is text. Where a header is not what was written here, the record counts as new: somebody
else may use the same name.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

from kgroup.processing.choices import (
    DeadLetter,
    Evict,
    Raise,
    Relinquish,
    Requeue,
    Strategy,
    Wait,
)
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import Headers

ATTEMPTS: Final = "kgroup-attempts"
"""How often a handler has had the record."""
FIRST_TRIED: Final = "kgroup-first-tried"
"""When a handler had it first, milliseconds since the epoch."""
EXPIRES: Final = "kgroup-expires"
"""From when on it is not tried again, milliseconds since the epoch."""
ORIGIN: Final = "kgroup-origin"
"""Where it was written first: `topic-partition@offset`."""
CAUSE: Final = "kgroup-cause"
"""Why it could not finish."""
GROUP: Final = "kgroup-group"
"""The group whose member gave it up."""

_OURS: Final = frozenset({ATTEMPTS, FIRST_TRIED, EXPIRES, ORIGIN, CAUSE, GROUP})
_LONGEST_CAUSE: Final = 1000
_DOUBLINGS: Final = 16


# -- verdicts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The processor ends with the error."""


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The handler gets it again.

    Args:
        pause: seconds until then.
    """

    pause: float


@dataclass(frozen=True, slots=True)
class StepBack:
    """This member leaves the partition to others for a while."""


@dataclass(frozen=True, slots=True)
class Send:
    """The record is written elsewhere, and is done here.

    Args:
        topic: where to, None for its own.
        headers: that it gets.
        timeout: seconds for it to be stored.
    """

    topic: str | None
    headers: Headers
    timeout: float


Verdict: TypeAlias = GiveUp | TryAgain | StepBack | Send


@dataclass(frozen=True, slots=True)
class Failure:
    """A record that did not finish.

    Args:
        origin: partition and offset of this copy of it.
        headers: as it came.
        attempt: how often the handler had this copy.
        cause: what was raised; a `TimeoutError` when the time was over.
        group_id: the group.
        began: when the handler had this copy first, milliseconds since the epoch.
        now: milliseconds since the epoch.
    """

    origin: tuple[TopicPartition, int]
    headers: Headers
    attempt: int
    cause: BaseException
    group_id: str
    began: int
    now: int


def verdict_on(strategy: Strategy, failure: Failure) -> Verdict:
    """Return what becomes of a record that did not finish.

    Args:
        strategy: chosen by the user.
        failure: what happened.
    """
    match strategy:
        case Raise():
            return GiveUp()
        case Wait() | Evict():
            doubled = strategy.pause * 2 ** min(failure.attempt - 1, _DOUBLINGS)
            return TryAgain(min(doubled, strategy.pause_max))
        case Relinquish():
            return StepBack()
        case Requeue():
            return _requeued(strategy, failure)
        case DeadLetter():
            if failure.attempt < strategy.attempts:
                return TryAgain(strategy.pause)
            return dead(strategy.topic, failure, strategy.write_timeout)
        case _:
            assert_never(strategy)


def _requeued(strategy: Requeue, failure: Failure) -> Send:
    trail = read_trail(failure.headers)
    first = failure.began if trail.first_tried is None else trail.first_tried
    expires = first + round(strategy.expiry * 1000) if trail.expires is None else trail.expires
    tried = trail.attempts + failure.attempt
    if tried >= strategy.attempts or failure.now >= expires:
        return dead(strategy.dead_letter, failure, strategy.write_timeout)
    told = {
        ATTEMPTS: str(tried),
        FIRST_TRIED: str(first),
        EXPIRES: str(expires),
        ORIGIN: trail.origin or _place(failure),
    }
    return Send(None, with_ours(failure.headers, told), strategy.write_timeout)


def dead(topic: str, failure: Failure, timeout: float) -> Send:
    """Return how a record goes to the topic of dead letters.

    Args:
        topic: which.
        failure: what happened.
        timeout: seconds for it to be stored.
    """
    trail = read_trail(failure.headers)
    first = failure.began if trail.first_tried is None else trail.first_tried
    told = {
        CAUSE: cause_of(failure.cause),
        ATTEMPTS: str(trail.attempts + failure.attempt),
        FIRST_TRIED: str(first),
        ORIGIN: trail.origin or _place(failure),
        GROUP: failure.group_id,
    }
    return Send(topic, with_ours(failure.headers, told), timeout)


def cause_of(error: BaseException) -> str:
    """Return an error's class and words, cut where they are long."""
    words = str(error)
    named = type(error).__name__
    return f"{named}: {words}"[:_LONGEST_CAUSE] if words else named


def _place(failure: Failure) -> str:
    tp, offset = failure.origin
    return f"{tp}@{offset}"


# -- headers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trail:
    """What earlier copies of a record left in its headers.

    Args:
        attempts: how often a handler had one of them.
        first_tried: when for the first time, milliseconds since the epoch; None when it is new.
        expires: from when on it is not tried again, None when that is not said.
        origin: where it was written first, None when it is new.
    """

    attempts: int = 0
    first_tried: int | None = None
    expires: int | None = None
    origin: str | None = None


def read_trail(headers: Iterable[tuple[str, bytes | None]]) -> Trail:
    """Return what the headers say; the last of one name counts."""
    found = {name: value for name, value in headers if name in _OURS and value is not None}
    origin = found.get(ORIGIN)
    return Trail(
        attempts=_number(found.get(ATTEMPTS)) or 0,
        first_tried=_number(found.get(FIRST_TRIED)),
        expires=_number(found.get(EXPIRES)),
        origin=None if origin is None else origin.decode("utf-8", "replace"),
    )


def with_ours(headers: Headers, told: dict[str, str]) -> Headers:
    """Return the headers of a copy: those of others as they are, ours in place of older ones."""
    others = tuple(each for each in headers if each[0] not in _OURS)
    return (*others, *((name, text.encode()) for name, text in told.items()))


def _number(value: bytes | None) -> int | None:
    text = b"" if value is None else value
    return int(text) if text.isdigit() else None
