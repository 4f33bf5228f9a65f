"""When racks matter.

Decides: the one switch of KIP-881, for a topic (range) or the whole group (sticky).
Never: asks which replicas are in sync; all of them count, as in Java.
"""

from collections.abc import Collection

from kgroup.assignors.group import GroupSubscription

__all__ = ["group_racks_matter", "racks_matter"]


def racks_matter(
    member_racks: Collection[str], partition_racks: Collection[frozenset[str]]
) -> bool:
    """Whether an assignment can be better or worse for racks.

    Args:
        member_racks: the racks members said they are in.
        partition_racks: per partition, the racks of its replicas.

    Returns:
        False when no member shares a rack with any replica, or when every partition has
        replicas in all racks there are.
    """
    everywhere: frozenset[str] = frozenset().union(*partition_racks)
    if everywhere.isdisjoint(member_racks):
        return False
    return any(racks != everywhere for racks in partition_racks)


def group_racks_matter(group: GroupSubscription) -> bool:
    """Whether racks matter for the group as a whole."""
    member_racks = {member.rack for member in group.members if member.rack is not None}
    if not member_racks:
        return False
    sets = {racks.replicas for numbers in group.topics.values() for racks in numbers.values()}
    return racks_matter(member_racks, sets)
