"""Reading every partition of topics without a group.

Decides: which partitions the topics, or those of a pattern, have now. All are owned, as if assigned
by hand; partitions that are added later are, too.
Never: asks for metadata itself; calls a listener: no other member takes a partition.
"""

import anyio

from kgroup.backends.standalone import StandaloneBackend
from kgroup.backends.topics import SubscribedTopics, to_watch
from kgroup.codes import ApiKey
from kgroup.consumer.ownership import Ownership
from kgroup.net.cluster import Cluster
from kgroup.net.metadata import ClusterView
from kgroup.net.verdict import refusal
from kgroup.types import Subscription, TopicPartition


class Following:
    """Keeps the owned partitions equal to those that exist.

    Args:
        cluster: its view; not owned.
        standalone: owns the partitions.
        ownership: carries changes out.
        exclude_internal: whether a pattern leaves out topics of the brokers.
    """

    def __init__(
        self,
        cluster: Cluster,
        standalone: StandaloneBackend,
        ownership: Ownership,
        *,
        exclude_internal: bool,
    ) -> None:
        self._cluster = cluster
        self._standalone = standalone
        self._ownership = ownership
        self._topics = SubscribedTopics(exclude_internal=exclude_internal)
        self._asked = False

    def ask(self, wanted: Subscription | None) -> None:
        """Follow topics or a pattern from now on, nothing with None."""
        self._asked = wanted is not None
        if wanted is None:
            return
        self._topics.ask(wanted)
        if wanted.pattern is not None:
            # All topics may be known already, but there may be new ones since.
            self._cluster.invalidate()
        self._cluster.watch(to_watch(wanted))
        self.look()

    def look(self) -> None:
        """Take in the present view of the cluster."""
        view = self._cluster.view
        names = self._topics.among(view) if self._asked else None
        if names is None:
            return
        wanted = _partitions(view, names)
        if wanted != {claim.tp for claim in self._standalone.membership.claims}:
            for change in self._standalone.own(wanted):
                self._ownership.settle_now(change)

    async def partitions(
        self, topics: SubscribedTopics, timeout: float
    ) -> frozenset[TopicPartition]:
        """Return the partitions of topics that are watched, once each of them has some.

        Args:
            topics: which topics, or which pattern.
            timeout: seconds.

        Raises:
            BrokerError: the brokers refuse a topic.
            TimeoutError: a topic was not there in time, or not all topics were known.
        """
        missing = "not all topics were heard of"
        with anyio.move_on_after(timeout):
            while True:
                view = self._cluster.view
                names = topics.among(view)
                lacking = None if names is None else _lacking(view, names)
                if names is not None and lacking is None:
                    self.look()
                    return _partitions(view, names)
                missing = missing if lacking is None else f"topic {lacking!r} was not found"
                await self._cluster.changed(view)
        raise TimeoutError(f"{missing} within {timeout:g} s")


def _lacking(view: ClusterView, names: frozenset[str]) -> str | None:
    """Return the first topic without partitions, None when there is none.

    Raises:
        BrokerError: the brokers refuse it.
    """
    for name in sorted(names):
        topic = view.topics.get(name)
        if topic is not None and topic.is_refused:
            raise refusal(ApiKey.METADATA, topic.error, (name,))
        if topic is None or not topic.partitions:
            return name
    return None


def _partitions(view: ClusterView, names: frozenset[str]) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(name, number)
        for name in names
        if name in view.topics
        for number in view.topics[name].partitions
    )
