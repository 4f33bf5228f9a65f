"""The consumer's calls about the group: what to read, what is owned, what the member is.

Decides: names, defaults and order of these calls.
Never: holds logic of its own: each call is a few words to one part.
KIPs: 345, 429, 447, 568.
"""

from collections.abc import Iterable

import anyio.lowlevel

from kgroup.backends.topics import SubscribedTopics, to_watch
from kgroup.consumer.calls.life import Life
from kgroup.consumer.calls.membership_stream import MembershipStream
from kgroup.consumer.calls.subscribing import Subscribing, by_hand, to_topics
from kgroup.consumer.listener import Listener, sound
from kgroup.errors import ConfigError, IllegalStateError, UnsupportedError
from kgroup.types import Backend, Generation, Membership, Subscription, TopicPartition

__all__ = ["GroupCalls"]


class GroupCalls(Life):
    """What is asked for, what is owned, and how the group does."""

    # -- what to read ----------------------------------------------------------------------

    def subscribe(
        self,
        *topics: str,
        pattern: str | None = None,
        exclude: str | None = None,
        listener: Listener | None = None,
    ) -> None:
        """Read topics as a member of the group; replaces what was subscribed before.

        Args:
            topics: names; they need not exist yet.
            pattern: regular expression instead, matched from the start of a topic's name.
            exclude: names the pattern must not take.
            listener: from now on; None keeps the present one.

        Raises:
            ConfigError: there is no group_id.
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        wanted = to_topics(topics, pattern, exclude)
        self._config.group()
        if self._subscription is not None and self._subscription.partitions is not None:
            raise IllegalStateError("partitions are assigned by hand; unsubscribe() first")
        self._listener = sound(listener) or self._listener
        self._replace(wanted)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, at once and without a group; replaces earlier ones.

        With a group_id its offsets are read and committed, which works only while nobody
        subscribes under that id. No listener is called.

        Raises:
            IllegalStateError: topics are subscribed; `unsubscribe` first.
        """
        wanted = by_hand(partitions)
        if self._subscription is not None and self._subscription.partitions is None:
            raise IllegalStateError("topics are subscribed; unsubscribe() first")
        self._replace(wanted)

    def follow(self, *topics: str, pattern: str | None = None, exclude: str | None = None) -> None:
        """Read every partition of topics without a group, also those that are added later.

        Replaces what was followed before. No listener is called, and nothing is committed.

        Args:
            topics: names; they need not exist yet.
            pattern: regular expression instead, matched from the start of a topic's name.
            exclude: names the pattern must not take.

        Raises:
            ConfigError: there is a group_id; members of a group `subscribe`.
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        wanted = to_topics(topics, pattern, exclude)
        if self._config.group_id is not None:
            expected = "None, to follow topics without a group; in a group, subscribe()"
            raise ConfigError("group_id", self._config.group_id, expected)
        if self._subscription is not None and self._subscription.partitions is not None:
            raise IllegalStateError("partitions are assigned by hand; unsubscribe() first")
        self._replace(wanted)

    def unsubscribe(self) -> None:
        """Give everything up."""
        before, self._subscription = self._subscription, None
        if self._parts is not None and before is not None:
            Subscribing(self._parts).drop()

    def _replace(self, wanted: Subscription) -> None:
        if self._parts is not None:
            self._parts.calls.listener = self._listener
            Subscribing(self._parts).ask(wanted)
        self._subscription = wanted

    # -- views -----------------------------------------------------------------------------

    def assignment(self) -> frozenset[TopicPartition]:
        """Return every partition owned now."""
        return frozenset() if self._parts is None else self._parts.delivery.owned.partitions

    def owns(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is owned now."""
        return tp in self.assignment()

    def subscription(self) -> Subscription | None:
        """Return what was asked for, None for nothing."""
        return self._subscription

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that were asked for, by name, by partition, or by a pattern.

        Those of a pattern are the ones it takes now; none before all topics were heard of.
        """
        wanted, parts = self._subscription, self._parts
        if wanted is None or wanted.pattern is None:
            return to_watch(wanted) or frozenset()
        if parts is None:
            return frozenset()
        return self._topics(wanted).among(parts.cluster.view) or frozenset()

    async def subscribed_partitions(
        self, *, timeout: float | None = None
    ) -> frozenset[TopicPartition]:
        """Return the partitions of `subscribed_topics`, waiting until each of them has some.

        In a group they are owned by its members. What is followed is owned when this returns.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time, or not all topics were heard of.
        """
        parts, wanted = await self._running(), self._subscription
        if wanted is None or wanted.partitions is not None:
            await anyio.lowlevel.checkpoint()  # who asks until there are some lets others run
            return frozenset() if wanted is None else wanted.partitions or frozenset()
        limit = self._config.fetching().request_timeout if timeout is None else timeout
        return await parts.following.partitions(self._topics(wanted), limit)

    def _topics(self, wanted: Subscription) -> SubscribedTopics:
        topics = SubscribedTopics(exclude_internal=self._config.exclude_internal_topics)
        topics.ask(wanted)
        return topics

    @property
    def membership(self) -> Membership:
        """An immutable snapshot; may be read from any thread."""
        return self._entered().gate.backend.membership

    def membership_changes(self) -> MembershipStream:
        """Iterate over memberships, beginning with the present one, until the consumer is closed.

        A fatal error is raised by it, after the last membership.
        """
        return MembershipStream(self._entered().gate)

    def group_metadata(self) -> Generation | None:
        """Return what a transaction's offset commit is fenced by (KIP-447).

        None while this consumer is no member: nothing may be committed for it then.

        Raises:
            ConfigError: there is no group_id.
        """
        self._config.group()
        if self._config.backend is Backend.MARSHAL:
            reason = "a group that claims has no generation that brokers could fence by"
            raise UnsupportedError(f"{reason}; see `token` of each batch")
        return self.membership.generation

    @property
    def rebalances(self) -> int:
        """How many rounds this member has completed since the consumer was entered."""
        return 0 if self._parts is None else self.membership.rebalances

    @property
    def failure(self) -> Exception | None:
        """The fatal error that ended the consumer's work, None while there is none."""
        return None if self._parts is None else self._parts.gate.failure

    def enforce_rebalance(self, reason: str = "the application asked for it") -> None:
        """Ask the group for a new round (KIP-568).

        Raises:
            IllegalStateError: partitions are assigned by hand.
        """
        self._entered(running=True).gate.backend.enforce_rebalance(reason)
