"""Topics and partitions that are asked for and cannot be read.

Decides: what a read raises while the brokers refuse a topic: other topics go on, and the error
takes turns with their records. When a missing topic or partition is warned of: once, after a few
seconds, and again only when the reason has changed. Why a partition has no position yet.
Never: ends anything: a topic that is missing or refused is waited for (`kgroup.net.refresh`).
"""

import logging
from collections import deque
from collections.abc import Collection, Iterator
from typing import Final

from kgroup.backends.topics import to_watch
from kgroup.codes import ApiKey, error_name
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster
from kgroup.net.metadata import EMPTY_VIEW, ClusterView, TopicInfo
from kgroup.net.verdict import refusal
from kgroup.types import Subscription, TopicPartition
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_WARN_AFTER: Final = 5.0
"""Seconds something must be missing before a warning: topics are made meanwhile."""


@dataclass(slots=True)
class _Missing:
    """Something that is asked for and cannot be read.

    Args:
        reason: why, in words.
        since: instant at which that was seen first.
        warned: whether there was a warning.
    """

    reason: str
    since: float
    warned: bool = False


class TopicWatch:
    """Watches the topics that one consumer asks for.

    Args:
        cluster: its view and its clock; not owned.
        notifiers: fired when a read should raise something else.
    """

    def __init__(self, cluster: Cluster, notifiers: Notifiers) -> None:
        self._cluster = cluster
        self._notifiers = notifiers
        self._wanted: Subscription | None = None
        self._seen = EMPTY_VIEW
        self._refused: deque[str] = deque()
        self._missing: dict[str, _Missing] = {}
        self._has_turn = True

    def ask(self, subscription: Subscription | None) -> None:
        """Watch the topics of a subscription from now on, None for none."""
        self._wanted, self._seen = subscription, EMPTY_VIEW
        self._has_turn = True
        self.look()

    def look(self) -> None:
        """Take in the present view, and warn of what has been missing for some time."""
        view = self._cluster.view
        if view is not self._seen:
            self._seen = view
            self._take_in(view)
        now = self._cluster.ports.clock()
        for what, each in self._missing.items():
            if not each.warned and now - each.since >= _WARN_AFTER:
                each.warned = True
                log.warning("%s cannot be read: %s; it is waited for", what, each.reason)

    def _take_in(self, view: ClusterView) -> None:
        names = to_watch(self._wanted) or frozenset()
        refused = {name for name in names if name in view.topics and view.topics[name].is_refused}
        if refused != set(self._refused):
            self._refused = deque(sorted(refused))
            self._notifiers.news.notify()
        now = self._cluster.ports.clock()
        before, self._missing = self._missing, {}
        for what, reason in self._faults(view, names):
            known = before.get(what)
            same = known is not None and known.reason == reason
            self._missing[what] = known if known and same else _Missing(reason, now)

    def _faults(self, view: ClusterView, names: frozenset[str]) -> Iterator[tuple[str, str]]:
        for name in sorted(names):
            topic = view.topics.get(name)
            if topic is not None and topic.error and not topic.partitions:
                yield f"topic {name!r}", _reason(topic)
        wanted = self._wanted.partitions if self._wanted is not None else None
        for tp in sorted(wanted or ()):
            topic = view.topics.get(tp.topic)
            if topic is not None and topic.partitions and tp.partition not in topic.partitions:
                yield f"partition {tp}", _count(topic)

    # -- what a read raises ----------------------------------------------------------------

    def take_turn(self, wanted: Collection[TopicPartition] | None) -> None:
        """Raise the error of a refused topic that is read about, when it is its turn.

        Args:
            wanted: the partitions a read is about, None for all.

        Raises:
            UnauthorizedError, BrokerError: what the brokers say of the topic.
        """
        if not self._refused:
            return
        if self._has_turn:
            self.check(wanted)
        self._has_turn = True

    def check(self, wanted: Collection[TopicPartition] | None) -> None:
        """Raise the error of a refused topic that is read about; nothing else is ready.

        Raises:
            UnauthorizedError, BrokerError: what the brokers say of the topic.
        """
        topics = None if wanted is None else {tp.topic for tp in wanted}
        for _ in range(len(self._refused)):
            name = self._refused[0]
            self._refused.rotate(-1)
            if topics is None or name in topics:
                self._has_turn = False
                raise _refusal(name, self._seen.topics[name])

    # -- why there is no position ----------------------------------------------------------

    def why_not(self, tp: TopicPartition) -> str | None:
        """Say what keeps a partition from having a position, None when nothing is known of.

        Raises:
            UnauthorizedError, BrokerError: the brokers refuse the topic.
        """
        view = self._cluster.view
        topic = view.topics.get(tp.topic)
        if topic is None:
            return "the brokers have not told of its topic yet"
        if topic.is_refused:
            raise _refusal(tp.topic, topic)
        if topic.error and not topic.partitions:
            return _reason(topic)
        if tp.partition not in topic.partitions:
            return _count(topic)
        return "no reachable broker leads it" if view.leader(tp) is None else None


def _refusal(name: str, topic: TopicInfo) -> BrokerError:
    return refusal(ApiKey.METADATA, topic.error, (name,))


def _reason(topic: TopicInfo) -> str:
    return (
        "there is no such topic" if topic.is_gone else f"the brokers say {error_name(topic.error)}"
    )


def _count(topic: TopicInfo) -> str:
    return f"its topic has {len(topic.partitions)} partition(s)"
