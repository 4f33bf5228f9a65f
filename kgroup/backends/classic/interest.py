"""Which topics a member needs metadata of: its own, and the whole group's while it leads.

Decides: what the cluster watches.
Never: asks for metadata itself.
"""

from collections.abc import Iterable
from typing import Final

from kgroup.assignors import Member
from kgroup.net.cluster import Cluster, ClusterView


class RackWatch:
    """What one member, while it leads, has to know of racks."""

    def __init__(self) -> None:
        self._topics: frozenset[str] = frozenset()
        self._racks: frozenset[str] = frozenset()
        self._rack_of: dict[int, str | None] = {}

    def lead(self, members: Iterable[Member], topics: frozenset[str]) -> None:
        """Watch these topics, and the racks that these members are in."""
        self._racks = frozenset(each.rack for each in members if each.rack is not None)
        self._topics = topics

    def places(self, view: ClusterView) -> dict[str, int]:
        """Return topic -> a number that differs as soon as the place of a replica does.

        Nothing while no member is in a rack. Two numbers can be compared as long as `lead` was
        not called in between.
        """
        self._rack_of |= {node: broker.rack for node, broker in view.brokers.items()}
        if not self._racks:
            return {}
        near: dict[tuple[int, ...], frozenset[str]] = {}
        found: dict[str, int] = {}
        for topic in self._topics & view.topics.keys():
            partitions = view.topics[topic].partitions
            rows = [partitions[number].replicas for number in sorted(partitions)]
            near |= {row: self._near(row) for row in set(rows) - near.keys()}
            found[topic] = hash(tuple(near[row] for row in rows))
        return found

    def _near(self, replicas: Iterable[int]) -> frozenset[str]:
        """Return the members' racks that have one of these replicas."""
        racks = (self._rack_of.get(node) for node in replicas)
        return frozenset(rack for rack in racks if rack in self._racks)


# -- interest --------------------------------------------------------------------------------------


_MOST_NAMES: Final = 20_000
"""Above this a question about all topics there are is the shorter one. One member of a group may
ask for a million names, of which there need not be a single topic."""


class TopicInterest:
    """The topics one member watches.

    Args:
        cluster: hears of every change of interest; not owned.
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
