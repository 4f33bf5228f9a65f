"""Where replicas are put, and which of them leads.

Decides: deterministically what a real controller does from a random start: leaders and replicas
go round the brokers in the order of their ids, and the first replica in sync that is up leads.
Never: lets a replica lead that missed records (unclean.leader.election.enable is false).
"""

from collections.abc import Mapping, Sequence

from kgroup.testing.broker.cluster.node import Node
from kgroup.testing.broker.cluster.topic import Partition

__all__ = ["choose_leader", "place", "without"]


def place(
    first: int, count: int, replication: int, up: Sequence[int], down: Sequence[int]
) -> list[tuple[int, ...]]:
    """Return the replicas of new partitions, the preferred leader first.

    Args:
        first: number of the first new partition.
        count: how many there are.
        replication: replicas of each, at most as many as there are brokers.
        up: ids of brokers that are up, not empty.
        down: those of the others; they get replicas only if there are not enough of the former.
    """
    return [
        (_around(number, up) + _around(number, down))[:replication]
        for number in range(first, first + count)
    ]


def _around(number: int, nodes: Sequence[int]) -> tuple[int, ...]:
    size = len(nodes)
    return tuple(nodes[(number + step) % size] for step in range(size))


def choose_leader(partition: Partition, nodes: Mapping[int, Node]) -> int | None:
    """Return the replica that leads next, None if none may."""
    for node_id in partition.replicas:
        if node_id in partition.isr and not nodes[node_id].fenced:
            return node_id
    return None


def without(isr: tuple[int, ...], node_id: int) -> tuple[int, ...]:
    """Return the replicas in sync after one went down; the last one stays."""
    return tuple(each for each in isr if each != node_id) or isr
