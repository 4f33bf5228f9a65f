"""The blocking consumer's calls about the group: what to read, what is owned, what the member is.

Decides: that what a loop over records was not given goes back before something else is asked for.
Never: holds logic of its own beyond that; see `kgroup.Consumer`.
"""

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar

from kgroup.sync.batch import MembershipIterator
from kgroup.sync.life import Life
from kgroup.sync.listener import Listener, on_loop
from kgroup.types import Generation, Membership, Subscription, TopicPartition

__all__ = ["GroupCalls"]

K = TypeVar("K")
V = TypeVar("V")


class GroupCalls(Life[K, V]):
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
            ArgumentError: the listener is none, or has an `async` callback.
            IllegalStateError: partitions are assigned by hand; `unsubscribe` first.
        """
        # Only `Consumer` stands on this: a listener gets the whole of it.
        whole: weakref.ReferenceType[Any] = weakref.ref(self)
        carried = on_loop(listener, whole, self._desk)
        ask = partial(
            self._native.subscribe, *topics, pattern=pattern, exclude=exclude, listener=carried
        )
        self._view(ask, self._ahead.withdraw())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, at once and without a group; replaces earlier ones.

        With a group_id its offsets are read and committed, which works only while nobody
        subscribes under that id. No listener is called.

        Raises:
            IllegalStateError: topics are subscribed; `unsubscribe` first.
        """
        self._view(partial(self._native.assign, partitions), self._ahead.withdraw())

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
        ask = partial(self._native.follow, *topics, pattern=pattern, exclude=exclude)
        self._view(ask, self._ahead.withdraw())

    def unsubscribe(self) -> None:
        """Give everything up; a listener hears of it at the next read, or when closing."""
        self._view(self._native.unsubscribe, self._ahead.withdraw())

    # -- views -----------------------------------------------------------------------------

    def assignment(self) -> frozenset[TopicPartition]:
        """Return every partition owned now."""
        return self._view(self._native.assignment)

    def owns(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is owned now."""
        return tp in self.assignment()

    def subscription(self) -> Subscription | None:
        """Return what was asked for, None for nothing."""
        return self._native.subscription()

    def subscribed_topics(self) -> frozenset[str]:
        """Return the topics that were asked for, by name, by partition, or by a pattern."""
        return self._view(self._native.subscribed_topics)

    def subscribed_partitions(self, *, timeout: float | None = None) -> frozenset[TopicPartition]:
        """Return the partitions of `subscribed_topics`, waiting until each of them has some.

        In a group they are owned by its members. What is followed is owned when this returns.

        Args:
            timeout: seconds, None for `request_timeout`.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time, or not all topics were heard of.
        """
        return self._do(partial(self._native.subscribed_partitions, timeout=timeout))

    @property
    def membership(self) -> Membership:
        """An immutable snapshot."""
        return self._native.membership

    def membership_changes(self) -> MembershipIterator:
        """Iterate over memberships, beginning with the present one."""
        return MembershipIterator(self._native.membership_changes(), self._host)

    def group_metadata(self) -> Generation | None:
        """Return what a transaction's offset commit is fenced by (KIP-447).

        None while this consumer is no member: nothing may be committed for it then.

        Raises:
            ConfigError: there is no group_id.
        """
        return self._native.group_metadata()

    @property
    def rebalances(self) -> int:
        """How many rounds this member has completed since the consumer was entered."""
        return self._native.rebalances

    @property
    def failure(self) -> Exception | None:
        """The fatal error that ended the consumer's work, None while there is none."""
        return self._native.failure

    def enforce_rebalance(self, reason: str = "the application asked for it") -> None:
        """Ask the group for a new round (KIP-568).

        Raises:
            IllegalStateError: partitions are assigned by hand.
        """
        self._view(partial(self._native.enforce_rebalance, reason))
