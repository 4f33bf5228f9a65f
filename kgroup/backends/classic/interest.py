"""Which topics a member needs metadata of: its own, and the whole group's while it leads.

Decides: what the cluster is told to watch.
Never: asks for metadata itself.
"""

from typing import Final

from kgroup.backends.classic.rack_watch import RackWatch
from kgroup.net.cluster import Cluster

__all__ = ["TopicInterest"]

_MOST_NAMES: Final = 20_000
"""Above this a question about all topics there are is the shorter one. One member of a group may
ask for a million names, of which there need not be a single topic."""


class TopicInterest:
    """The topics one member watches.

    Args:
        cluster: told about every change of interest; not owned.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._own: frozenset[str] | None = frozenset()
        self._group: frozenset[str] = frozenset()
        self.racks = RackWatch()
        """What of their replicas' racks it needs to know while it leads."""

    def subscribe(self, topics: frozenset[str] | None) -> None:
        """Watch the member's own topics; None for all (a pattern)."""
        self._own = topics
        self._tell()

    def lead(self, topics: frozenset[str]) -> None:
        """Watch the group's topics beside them.

        A former leader goes on watching: it may lead again, and must not assign from counts that
        nobody kept fresh.
        """
        if topics != self._group:
            self._group = topics
            self._tell()

    def _tell(self) -> None:
        names = None if self._own is None else self._own | self._group
        self._cluster.watch(names if names is None or len(names) <= _MOST_NAMES else None)
