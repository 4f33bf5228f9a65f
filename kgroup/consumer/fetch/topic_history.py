"""What this consumer has seen of its topics before: which partitions are new, which topics are.

Decides: that a partition is new when its topic had fewer when this consumer first saw it, or was
another one; that a claim's topic was made anew when its id is not the one the claim began with.
Never: asks; forgets: a partition that was new is so for the life of the consumer.
KIPs: 516 (topic ids).

A new partition is read from its beginning when nothing is committed, also under `latest`:
1. the topic has three partitions; 2. a fourth is added; 3. records are written to it; 4. metadata
shows it, the group gives it to somebody. What was written in 3 is no old record to pass over.

An id that was replaced never comes back: 1. one broker tells of the new topic; 2. another, which
has not heard yet, tells of the old one. The new one is not begun a second time for that.
"""

from dataclasses import dataclass

from kgroup.consumer.fetch.jumps import Jumps
from kgroup.consumer.stock.owned import OwnedPartitions
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.metadata import EMPTY_VIEW
from kgroup.types import TopicPartition

__all__ = ["TopicHistory"]


@dataclass(frozen=True, slots=True)
class _First:
    """A topic as it was seen first: its id, None when not known, and how many partitions."""

    topic_id: bytes | None
    partitions: int


class TopicHistory:
    """Remembers topics, and compares.

    Args:
        cluster: its view; not owned.
        owned: the claims whose topics are compared.
        jumps: told of topics that were made anew.
    """

    def __init__(self, cluster: Cluster, owned: OwnedPartitions, jumps: Jumps) -> None:
        self._cluster = cluster
        self._owned = owned
        self._jumps = jumps
        self._seen = EMPTY_VIEW
        self._first: dict[str, _First] = {}
        self._former: set[bytes] = set()
        self._compared = 0

    def look(self) -> None:
        """Take in the present view; called before anything is asked about a position."""
        view = self._cluster.view
        if view is self._seen and self._compared == self._owned.begun:
            return
        self._compared = self._owned.begun
        if view is not self._seen:
            # An answer about all topics shows which ones an earlier one did not have.
            all_known = view.asked is None and self._seen.asked is None
            self._remember(view, new=all_known)
            self._seen = view
        for owned in self._owned:
            topic_id = view.topic_id(owned.tp.topic)
            if topic_id in (None, owned.topic_id) or topic_id in self._former:
                continue
            if owned.topic_id is not None:
                self._former.add(owned.topic_id)
                self._jumps.recreated(owned)
            owned.topic_id = topic_id

    def _remember(self, view: ClusterView, *, new: bool) -> None:
        for name, topic in view.topics.items():
            if name in self._first:
                continue
            if topic.is_gone or (new and topic.partitions):
                self._first[name] = _First(None, 0)
            elif topic.partitions:
                self._first[name] = _First(topic.topic_id, max(topic.partitions) + 1)

    def is_new(self, tp: TopicPartition) -> bool:
        """Tell whether a partition was not there when its topic was first seen."""
        first = self._first.get(tp.topic)
        if first is None:
            return False
        topic_id = self._cluster.view.topic_id(tp.topic)
        same = None in (topic_id, first.topic_id) or topic_id == first.topic_id
        return tp.partition >= first.partitions or not same
