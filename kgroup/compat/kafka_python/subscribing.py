"""kafka-python's calls about what is read, and what the consumer is in its group.

Decides: what is refused, in which words, as kafka-python does; that topics without a group_id are
read whole, without a group.
Never: holds logic of its own.
KIPs: 447 (group metadata).
"""

import logging
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final

from kafka.errors import IllegalStateError
from kafka.structs import ConsumerGroupMetadata, MemberState, TopicPartition

from kgroup.compat.kafka_python.errors import translating
from kgroup.compat.kafka_python.life import Life, Wish
from kgroup.compat.kafka_python.listeners import adapted
from kgroup.errors import CommitFailedError, KGroupError, NotOwnedError
from kgroup.types import MemberState as OurState
from kgroup.types import TopicPartition as OurPartition

__all__ = ["Subscribing"]

log = logging.getLogger(__name__)

_ONE_WAY: Final = (
    "You must choose only one way to configure your consumer: (1) subscribe to specific topics by "
    "name, (2) subscribe to topics matching a regex pattern, (3) assign itself specific "
    "topic-partitions."
)
_LEGAL: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


class _Kind(Enum):
    """How what is to be read is named."""

    TOPICS = "topics"
    PATTERN = "pattern"
    BY_HAND = "partitions"


class Subscribing(Life):
    """What is read, and the group."""

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | None = None, listener: object = None
    ) -> None:
        """Read topics; replaces what was subscribed before. A group is joined by the next poll.

        Args:
            topics: names.
            pattern: regular expression instead.
            listener: a `kafka.ConsumerRebalanceListener`; None for nobody.

        Raises:
            ValueError: neither is given, or a name cannot be one.
            IllegalStateError: both are given; or partitions were assigned, or the other kind was
                subscribed before: `unsubscribe` first.
            TypeError: topics or the listener are something else.
        """
        if not topics and not pattern:
            raise ValueError("Must provide topics or pattern")
        if topics and pattern:
            raise IllegalStateError(_ONE_WAY)
        if isinstance(topics, str) or not isinstance(topics, Sequence):
            raise TypeError("Topics must be a list (or non-str sequence)")
        if self._kind() not in (None, _Kind.PATTERN if pattern else _Kind.TOPICS):
            raise IllegalStateError(_ONE_WAY)
        for topic in topics:
            _check_name(topic)
        hears = adapted(listener, self._reported, eager=self._eager)
        if self.config["group_id"] is not None:
            self._wish = Wish(tuple(topics), pattern or "", hears)
            return
        with translating():
            self._consumer.follow(*topics, pattern=pattern or None)

    def _kind(self) -> "_Kind | None":
        """Return how what is asked for is named, None while nothing is."""
        if self._wish is not None:
            return _Kind.PATTERN if self._wish.pattern else _Kind.TOPICS
        asked = self._consumer.subscription()
        if asked is None:
            return None
        if asked.partitions is not None:
            return _Kind.BY_HAND
        return _Kind.PATTERN if asked.pattern else _Kind.TOPICS

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions; with none of them, nothing.

        Raises:
            IllegalStateError: topics are subscribed: `unsubscribe` first.
        """
        asked = [OurPartition(*tp) for tp in partitions]
        if not asked:
            self.unsubscribe()
            return
        if self._kind() not in (None, _Kind.BY_HAND):
            raise IllegalStateError(_ONE_WAY)
        self._commit_delivered()
        with translating():
            self._consumer.assign(asked)

    def unsubscribe(self) -> None:
        """Give everything up; with auto-commit what was delivered is committed."""
        self._commit_delivered()
        self._wish = None
        with translating():
            self._consumer.unsubscribe()
        self._reported.partitions = frozenset()

    def assignment(self) -> set[TopicPartition]:
        """Return what is assigned now."""
        return {TopicPartition(*tp) for tp in self._assigned()}

    def subscription(self) -> set[str] | None:
        """Return the topics that are subscribed, None without; of a pattern, those it takes now."""
        if self._kind() in (None, _Kind.BY_HAND):
            return None
        return set(self._consumer.subscribed_topics() if self._wish is None else self._wish.topics)

    def pause(self, *partitions: TopicPartition) -> None:
        """Return no records of some partitions until `resume`.

        Raises:
            TypeError: one of them is not a TopicPartition.
            KeyError: one of them is not assigned.
        """
        asked = _all(partitions)
        try:
            self._consumer.pause(*asked)
        except NotOwnedError as error:
            raise KeyError(TopicPartition(*error.partitions[0])) from error

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of some partitions again; raises as `pause`."""
        asked = _all(partitions)
        try:
            self._consumer.resume(*asked)
        except NotOwnedError as error:
            raise KeyError(TopicPartition(*error.partitions[0])) from error

    def paused(self) -> set[TopicPartition]:
        """Return the assigned partitions that are paused."""
        return {TopicPartition(*tp) for tp in self._consumer.paused()}

    def topics(self) -> set[str]:
        """Return every topic that may be seen, but those of the brokers; asks a broker."""
        with translating():
            return set(self._consumer.topics(internal=False))

    def partitions_for_topic(self, topic: str) -> set[int]:
        """Return the partition numbers of a topic, the empty set when there is none such."""
        with translating():
            known = self._consumer.partitions_for_topic(topic)
            if known is None:
                self._consumer.topics()
                known = self._consumer.partitions_for_topic(topic)
        return set(known or ())

    def group_metadata(self) -> Any:  # noqa: ANN401 - kafka-python's ConsumerGroupMetadata
        """Return what a transaction's commit is fenced by, and how the member stands."""
        group_id, instance = self.config["group_id"], self.config["group_instance_id"]
        if group_id is None:
            return ConsumerGroupMetadata(group_id=None)
        membership = self._consumer.membership
        generation = membership.generation
        if generation is None:
            joining = membership.state in (OurState.JOINING, OurState.ASSIGNING, OurState.SYNCING)
            state = MemberState.REBALANCING if joining else MemberState.UNJOINED
            return ConsumerGroupMetadata(group_id, -1, "", instance, state)
        stable = membership.state is OurState.STABLE
        state = MemberState.STABLE if stable else MemberState.REBALANCING
        number, member = generation.generation_id, generation.member_id
        return ConsumerGroupMetadata(group_id, number, member, instance, state)

    def _commit_delivered(self) -> None:
        if not self.config["enable_auto_commit"] or self.config["group_id"] is None:
            return
        try:
            self._consumer.commit(timeout=self.config["request_timeout_ms"] / 1000)
        except (CommitFailedError, KGroupError, TimeoutError) as error:
            log.warning("the commit before partitions are given up failed: %s", error)


def _all(partitions: Iterable[object]) -> list[OurPartition]:
    if not all(isinstance(each, TopicPartition) for each in partitions):
        raise TypeError("partitions must be TopicPartition namedtuples")
    return [OurPartition(*each) for each in partitions]  # type: ignore[misc]  # they are tuples


def _check_name(topic: object) -> None:
    if not isinstance(topic, str):
        raise TypeError("All topics must be strings")
    if topic in {".", ".."} or not _LEGAL.fullmatch(topic):
        raise ValueError(
            f'Topic name "{topic}" is illegal: 1 to 249 of A-Z a-z 0-9 . _ -, and not "." or ".."'
        )
