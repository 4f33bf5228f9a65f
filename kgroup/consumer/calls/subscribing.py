"""What the application asks to read: the checks before anything is asked of anybody.

Decides: what makes a subscription, and that topics and partitions by hand exclude each other.
Never: asks the cluster.
"""

import re
from collections.abc import Iterable

from kgroup.consumer.assembly import Parts
from kgroup.errors import ArgumentError
from kgroup.types import Subscription, TopicPartition

__all__ = ["Subscribing", "by_hand", "to_topics"]


def to_topics(topics: tuple[str, ...], pattern: str | None, exclude: str | None) -> Subscription:
    """Return a subscription to topics or to a pattern.

    Raises:
        ArgumentError: neither or both are given; a name is not a string; a pattern is not one.
    """
    if bool(topics) == (pattern is not None):
        raise ArgumentError("topics", topics, "names of topics, or a pattern; one of the two")
    if exclude is not None and pattern is None:
        raise ArgumentError("exclude", exclude, "a pattern beside it")
    for topic in topics:
        _check_name(topic)
    for name, expression in (("pattern", pattern), ("exclude", exclude)):
        _check(name, expression)
    if pattern is not None:
        return Subscription(pattern=pattern, exclude=exclude)
    return Subscription(topics=frozenset(topics))


def by_hand(partitions: Iterable[TopicPartition]) -> Subscription:
    """Return a subscription to exact partitions.

    Raises:
        ArgumentError: one of them is no partition.
    """
    if isinstance(partitions, TopicPartition):
        raise ArgumentError("partitions", partitions, "several TopicPartition in a list or set")
    return Subscription(partitions=frozenset(_partition(each) for each in partitions))


def _check_name(topic: object) -> None:
    if not isinstance(topic, str) or not topic:
        raise ArgumentError("topics", topic, "names that are strings and not empty")


def _partition(given: object) -> TopicPartition:
    match given:
        case (str(topic), int(number)) if topic and number >= 0:
            return TopicPartition(topic, number)
        case _:
            raise ArgumentError("partitions", given, "a TopicPartition(topic, partition)")


def _check(name: str, expression: str | None) -> None:
    if expression is None:
        return
    try:
        re.compile(expression)
    except (re.error, TypeError) as error:
        raise ArgumentError(name, expression, f"a regular expression ({error})") from error


class Subscribing:
    """Carries a subscription to the backend that serves it.

    Args:
        parts: of the consumer.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def ask(self, wanted: Subscription) -> None:
        """Ask for topics, a pattern, or partitions by hand."""
        parts = self._parts
        parts.gate.check_alive()
        group = parts.group
        if group is None and wanted.partitions is None:
            parts.reading.next_read(None)
            parts.following.ask(wanted)
        elif wanted.partitions is not None and not (group and group.takes_partitions):
            parts.gate.backend = parts.standalone
            # As at a read: whoever goes on elsewhere is through with what was read before.
            parts.reading.next_read(None)
            self._settle(wanted.partitions)
        else:
            assert group is not None
            parts.gate.backend = group
            group.subscribe(wanted)
        parts.gate.topics.ask(wanted)

    def drop(self) -> None:
        """Give up what was asked for."""
        self._parts.gate.topics.ask(None)
        self._parts.reading.let_go()
        if self._parts.gate.backend is self._parts.group:
            self._parts.gate.backend.subscribe(None)
        else:
            self._parts.following.ask(None)
            self._settle(frozenset())

    def _settle(self, wanted: frozenset[TopicPartition]) -> None:
        for change in self._parts.standalone.assign(wanted):
            self._parts.ownership.settle_now(change)
