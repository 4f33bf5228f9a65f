"""What the application asks to read, before and after the consumer is started.

Decides: that topics, a pattern and partitions by hand exclude each other, and which call of the
native consumer each becomes: without a group, topics are followed.
Never: asks brokers. KIPs: 568 (subscribing to the same again is a new round, as in aiokafka).
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from aiokafka.errors import IllegalStateError

from kgroup import Consumer, TopicPartition
from kgroup.compat.aiokafka.listeners import AdaptedListener
from kgroup.compat.aiokafka.rounds import Rounds
from kgroup.values import dataclass

__all__ = ["Kind", "Wishes", "topics_of"]

_FLAGS: Final = {
    "a": re.ASCII,
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
}


class Kind(Enum):
    """How what is to be read is named."""

    TOPICS = "topics"
    PATTERN = "pattern"
    BY_HAND = "partitions"


@dataclass(frozen=True, slots=True)
class _Wish:
    """One wish; the field that its kind names is set."""

    kind: Kind
    topics: frozenset[str] = frozenset()
    pattern: str = ""
    partitions: frozenset[TopicPartition] = frozenset()


def topics_of(given: object) -> frozenset[str]:
    """Return the names of topics.

    Raises:
        TypeError: it is neither a tuple nor a list nor a set.
    """
    if not isinstance(given, tuple | set | list | frozenset):
        raise TypeError("Topics should be list of strings")
    return frozenset(given)


class Wishes:
    """What one facade is asked to read.

    Args:
        rounds: notified when the application subscribes.
        group_id: None without a group.
    """

    def __init__(self, rounds: Rounds, group_id: str | None) -> None:
        self._rounds = rounds
        self._in_group = group_id is not None
        self._wish: _Wish | None = None
        self._native: Consumer[Any, Any] | None = None
        self._paused: frozenset[TopicPartition] = frozenset()

    # -- what is asked for -----------------------------------------------------------------

    @property
    def kind(self) -> Kind | None:
        """How it is named, None while nothing is asked for."""
        return None if self._wish is None else self._wish.kind

    @property
    def of_group(self) -> bool:
        """Whether a group assigns the partitions."""
        return self._in_group and self.kind in (Kind.TOPICS, Kind.PATTERN)

    @property
    def names(self) -> frozenset[str]:
        """The topics that are named; those of partitions count, those of a pattern do not."""
        wish = self._wish
        if wish is None:
            return frozenset()
        return wish.topics or frozenset(tp.topic for tp in wish.partitions)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned by hand."""
        return frozenset() if self._wish is None else self._wish.partitions

    @property
    def paused(self) -> frozenset[TopicPartition]:
        """The partitions by hand that are to be paused from the start on."""
        return self._paused & self.partitions

    # -- asking ----------------------------------------------------------------------------

    def topics(self, topics: frozenset[str], listener: AdaptedListener | None) -> None:
        """Ask for topics.

        Raises:
            IllegalStateError: something else is asked for already, as for the other two.
        """
        self._ask(_Wish(Kind.TOPICS, topics=topics), listener)

    def pattern(self, pattern: "str | re.Pattern[str]", listener: AdaptedListener | None) -> None:
        """Ask for all topics whose names a pattern matches from their start.

        Raises:
            ValueError: it is no regular expression.
        """
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a valid pattern: {error}") from error
        letters = "".join(each for each, flag in _FLAGS.items() if compiled.flags & flag)
        text = compiled.pattern if not letters else f"(?{letters}){compiled.pattern}"
        self._ask(_Wish(Kind.PATTERN, pattern=text), listener)

    def by_hand(self, partitions: Iterable[TopicPartition]) -> None:
        """Ask for exactly these partitions."""
        self._ask(_Wish(Kind.BY_HAND, partitions=frozenset(partitions)), None)

    def _ask(self, wish: _Wish, listener: AdaptedListener | None) -> None:
        if self.kind not in (None, wish.kind):
            reason = "Subscription to topics, partitions and pattern are mutually exclusive"
            raise IllegalStateError(f"{reason}: call unsubscribe() first")
        again, self._wish = wish == self._wish, wish
        self._rounds.begin(listener)
        if self._native is not None:
            self._carry(self._native, again=again)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Have some partitions paused from the start on.

        Raises:
            IllegalStateError: one is not assigned.
        """
        self._paused |= self._assigned(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Have some partitions not paused at the start; raises as `pause`."""
        self._paused -= self._assigned(partitions)

    def _assigned(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        asked = frozenset(partitions)
        for tp in sorted(asked - self.partitions):
            raise IllegalStateError(f"Partition {tp} is not assigned")
        return asked

    def nothing(self) -> None:
        """Give everything up."""
        self._wish = None
        self._rounds.begin(None)
        if self._native is not None:
            self._native.unsubscribe()

    def carry(self, native: Consumer[Any, Any]) -> None:
        """Ask the native consumer, now that it is entered, and from now on."""
        self._native = native
        self._carry(native, again=False)

    def leave(self) -> None:
        """Ask nobody any more: the native consumer is given up, what is asked for is not."""
        self._native = None
        self._rounds.forget()

    def _carry(self, native: Consumer[Any, Any], *, again: bool) -> None:
        wish = self._wish
        if wish is None:
            return
        if wish.kind is Kind.BY_HAND:
            native.assign(wish.partitions)
            native.pause(*self.paused)
            self._paused = frozenset()
            return
        ask = native.subscribe if self._in_group else native.follow
        if wish.kind is Kind.PATTERN:
            ask(pattern=wish.pattern)
        else:
            ask(*wish.topics)
        if again and self._in_group:
            native.enforce_rebalance("the application has subscribed again")
