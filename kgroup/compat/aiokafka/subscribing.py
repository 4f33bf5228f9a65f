"""The facade's calls about what is read: topics, patterns, partitions, pauses.

Decides: names, checks and answers of these calls, as aiokafka has them.
Never: waits for anything: the group is asked in the background.
"""

import re
from collections.abc import Collection

from aiokafka.structs import TopicPartition

from kgroup.compat.aiokafka import listeners
from kgroup.compat.aiokafka.errors import translating
from kgroup.compat.aiokafka.life import Life
from kgroup.compat.aiokafka.partitions import all_partitions, ours, theirs
from kgroup.compat.aiokafka.wishes import topics_of

__all__ = ["Subscribing"]


class Subscribing(Life):
    """What is asked for, and what is held."""

    def subscribe(
        self,
        topics: Collection[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        listener: object = None,
    ) -> None:
        """Read topics, or those whose names a pattern matches; replaces what was read before.

        Args:
            topics: names, in a list, tuple or set.
            pattern: regular expression instead, matched from the start of a name.
            listener: an `aiokafka.abc.ConsumerRebalanceListener`; None for none from now on.

        Raises:
            TypeError: neither or both are given; topics is a str; the listener is no
                `ConsumerRebalanceListener`.
            ValueError: the pattern is no regular expression.
            IllegalStateError: partitions are assigned by hand, or the other kind is subscribed.
        """
        if not (topics or pattern):
            raise TypeError("You should provide either `topics` or `pattern`")
        if topics and pattern:
            raise TypeError("You can't provide both `topics` and `pattern`")
        adapted = listeners.adapted(listener)
        with translating():
            if topics:
                self._wishes.topics(topics_of(topics), adapted)
            elif pattern:
                self._wishes.pattern(pattern, adapted)

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read exactly these partitions; replaces earlier ones.

        Raises:
            IllegalStateError: topics are subscribed.
        """
        with translating():
            self._wishes.by_hand(ours(partitions))

    def unsubscribe(self) -> None:
        """Give everything up; a member leaves its group, unless it is static."""
        with translating():
            self._wishes.nothing()

    def subscription(self) -> frozenset[str]:
        """Return the topics that are read; of a pattern those that it takes now."""
        if self._host is None:
            return self._wishes.names
        return self._host.consumer.subscribed_topics()

    def assignment(self) -> frozenset[TopicPartition]:
        """Return the partitions that are held; none while the group has assigned none yet."""
        wishes = self._wishes
        if wishes.kind is None or (wishes.of_group and not self._rounds.assigned):
            return frozenset()
        if self._host is None:
            return frozenset(map(theirs, wishes.partitions))
        return frozenset(map(theirs, self._host.consumer.assignment()))

    # -- pauses ----------------------------------------------------------------------------

    def pause(self, *partitions: TopicPartition) -> None:
        """Deliver nothing of some partitions until `resume`.

        Raises:
            TypeError: one is no TopicPartition.
            IllegalStateError: one is not assigned.
        """
        _check(partitions)
        if self._host is None:
            self._wishes.pause(ours(partitions))
            return
        with translating():
            self._native().pause(*ours(partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        """Deliver records of some partitions again.

        Raises:
            TypeError, IllegalStateError: as `pause`.
        """
        _check(partitions)
        if self._host is None:
            self._wishes.resume(ours(partitions))
            return
        with translating():
            self._native().resume(*ours(partitions))

    def paused(self) -> set[TopicPartition]:
        """Return the partitions that are paused."""
        paused = self._wishes.paused if self._host is None else self._host.consumer.paused()
        return set(map(theirs, paused))


def _check(partitions: tuple[object, ...]) -> None:
    if not all_partitions(partitions):
        raise TypeError("partitions must be TopicPartition namedtuples")
