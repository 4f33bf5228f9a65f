"""Where the replicas of a group's topics are, as far as that matters to its members (KIP-881).

Decides: which moves of replicas a leader has to know of: those into or out of a rack that a member
is in. A broker that is away is where it was, so one that restarts is no reason for a round; nor is
another leader of a partition, whose replicas stay where they are.
Never: remembers what was assigned; the machine does.
"""

from collections.abc import Iterable

from kgroup.assignors import Member
from kgroup.net.cluster import ClusterView

__all__ = ["RackWatch"]


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
