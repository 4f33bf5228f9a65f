"""What a user chooses: when records are committed, and what becomes of one that cannot finish.

Decides: the names and defaults of both, and which values make sense by themselves.
Never: carries a choice out; knows the options of a consumer (`fitting` does).
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from kgroup.errors import ConfigError
from kgroup.types import CommitOutcome
from kgroup.values import dataclass
from kgroup.words import Word

if TYPE_CHECKING:
    from kgroup.processing.store import Store

_MOST: Final = 86_400.0


class Per(Word):
    """What the handler gets at a time, and what one commit covers at least."""

    RECORD = "record"
    BATCH = "batch"


class Order(Word):
    """Which records wait for each other when several are in work at a time."""

    KEY = "key"
    PARTITION = "partition"
    NONE = "none"


# -- semantics -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AutoCommit:
    """What is done is committed by the consumer, every `auto_commit_interval`.

    Args:
        per: what the handler gets at a time.
    """

    per: Per = Per.RECORD


@dataclass(frozen=True, slots=True)
class AtLeastOnce:
    """Each record, or each batch, is committed when it is done, before the next begins.

    Args:
        per: what the handler gets at a time, and what one commit covers.
    """

    per: Per = Per.RECORD


@dataclass(frozen=True, slots=True)
class InParallel:
    """At least once, several records at a time; commits are not waited for.

    Only what is done without a gap is committed. What is done beyond the gap is noted beside the
    offset, so that a restart does not repeat it. The consumer needs `enable_auto_commit=False`.

    Args:
        order: which records wait for each other. Records without a key have no order by key.
        lanes: most records in work at a time, over all partitions.
        in_flight: records of one partition that are in hand at most; then only it is paused.
        on_committed: called with the outcome of each commit, in order.
    """

    order: Order = Order.KEY
    lanes: int = 16
    in_flight: int = 1000
    on_committed: Callable[[CommitOutcome], None] | None = None

    def __post_init__(self) -> None:
        for name in ("lanes", "in_flight"):
            _whole(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class AtMostOnce:
    """Each record, or each batch, is committed before the handler gets it.

    When nobody knows whether the commit was stored, it is skipped.

    Args:
        per: what the handler gets at a time, and what one commit covers: that is lost in a crash.
    """

    per: Per = Per.RECORD


@dataclass(frozen=True, slots=True)
class EffectivelyOnce:
    """The store keeps the offset in the transaction in which the handler writes.

    Args:
        store: where the handler writes; it is given the transaction beside the record.
        per: what the handler gets at a time, and what one transaction covers.
    """

    store: "Store"
    per: Per = Per.RECORD


Semantics: TypeAlias = AutoCommit | AtLeastOnce | InParallel | AtMostOnce | EffectivelyOnce
"""When a record counts as done."""


# -- strategies ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Raise:
    """What the handler raises ends the processor; nothing of it is committed."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The record is tried again until it is done, as long as it takes; other partitions flow.

    Args:
        pause: seconds before the second try; each further pause is twice as long.
        pause_max: longest pause.
    """

    pause: float = 0.5
    pause_max: float = 60.0

    def __post_init__(self) -> None:
        _pauses(self.pause, self.pause_max)


@dataclass(frozen=True, slots=True)
class Evict:
    """Nothing else is read meanwhile, so that the group takes everything away in the end.

    After `max_poll_interval` other members have the partitions. The record is tried again until
    then. This member comes back once the handler has returned.

    Args:
        pause: seconds before the second try; each further pause is twice as long.
        pause_max: longest pause.
    """

    pause: float = 0.5
    pause_max: float = 60.0

    def __post_init__(self) -> None:
        _pauses(self.pause, self.pause_max)


@dataclass(frozen=True, slots=True)
class Relinquish:
    """What is done is committed, and this member leaves the partition to others for a while.

    With `assignors=[YieldingAssignor()]` it gives up that partition alone; otherwise all it has.

    Args:
        deadline: seconds that the handler has for a record or a batch.
        away: seconds until it asks for the partition again; twice as long each further time that
            the same record is why.
        away_max: the longest, unless `away` is longer.
    """

    deadline: float
    away: float = 30.0
    away_max: float = 600.0

    def __post_init__(self) -> None:
        for name in ("deadline", "away", "away_max"):
            _seconds(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class Requeue:
    """The record is written to the end of its partition again, and done here.

    Args:
        deadline: seconds that the handler has for a record.
        dead_letter: topic that takes it when its attempts, or its time, are used up.
        attempts: how often a handler gets it, this time included.
        expiry: seconds after its first attempt from which it is not tried again.
        forced: whether to do so although other groups read the topic: they get it again, too.
        write_timeout: seconds for the copy to be stored.
    """

    deadline: float
    dead_letter: str
    attempts: int = 5
    expiry: float = 3600.0
    forced: bool = False
    write_timeout: float = 10.0

    def __post_init__(self) -> None:
        check_topic("dead_letter", self.dead_letter)
        _whole("attempts", self.attempts)
        for name in ("deadline", "expiry", "write_timeout"):
            _seconds(name, getattr(self, name))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The record is written to another topic, with the cause, and done here.

    Args:
        topic: where to.
        deadline: seconds that each attempt has, None for any.
        attempts: how often a handler gets it.
        pause: seconds between two attempts.
        write_timeout: seconds for the letter to be stored.
    """

    topic: str
    deadline: float | None = None
    attempts: int = 1
    pause: float = 0.5
    write_timeout: float = 10.0

    def __post_init__(self) -> None:
        check_topic("topic", self.topic)
        _whole("attempts", self.attempts)
        _seconds("write_timeout", self.write_timeout)
        if self.deadline is not None:
            _seconds("deadline", self.deadline)
        if not 0 <= self.pause <= _MOST:
            raise ConfigError("pause", self.pause, f"seconds from 0 to {_MOST:g}")

    @property
    def longest(self) -> float:
        """Seconds until the letter is stored, at the latest; infinity without a deadline."""
        if self.deadline is None:
            return math.inf
        tries = self.attempts * self.deadline + (self.attempts - 1) * self.pause
        return tries + self.write_timeout


Strategy: TypeAlias = Raise | Wait | Evict | Relinquish | Requeue | DeadLetter
"""What becomes of a record that cannot finish."""


def goes_by_record(semantics: Semantics) -> bool:
    """Tell whether the handler gets one record at a time."""
    return isinstance(semantics, InParallel) or semantics.per is Per.RECORD


def deadline_of(strategy: Strategy) -> float | None:
    """Return the seconds that one attempt has, None for any number."""
    match strategy:
        case Relinquish() | Requeue() | DeadLetter():
            return strategy.deadline
        case _:
            return None


# -- values ----------------------------------------------------------------------------------------


def _whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(name, value, "a whole number of at least 1")


def _seconds(name: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < cast("float", value) <= _MOST:
        raise ConfigError(name, value, f"seconds above 0, at most {_MOST:g}")


def _pauses(pause: float, longest: float) -> None:
    _seconds("pause", pause)
    _seconds("pause_max", longest)
    if longest < pause:
        raise ConfigError("pause_max", longest, f"at least the first pause, {pause:g} s")


def check_topic(name: str, value: object) -> None:
    """Refuse what is no name of a topic.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, str) or not value:
        raise ConfigError(name, value, "the name of a topic")
