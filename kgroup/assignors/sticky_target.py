"""The target that both sticky assignors aim at: balanced first, then with the fewest moves.

Decides: which of two algorithms applies.
Never: withholds anything; that is the cooperative assignor's part.
KIPs: 54, 341.
"""

from collections.abc import Sequence

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.sticky_equal import plan_equal
from kgroup.assignors.sticky_unequal import plan_unequal
from kgroup.types import TopicPartition

__all__ = ["plan_sticky"]


def plan_sticky(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member] | None = None
) -> dict[str, tuple[TopicPartition, ...]]:
    """Return member id -> its partitions, sorted, for every member of the group.

    Members that subscribe to nothing that exists take no part, and subscriptions are compared
    by the topics that exist: a pattern that matches nothing yet does not make a group unequal.

    Args:
        group: members, partitions and racks.
        holdings: who holds what now.
        walk: the members in the order that decides ties, None for the group's own order.
    """
    known = group.topics.keys()
    active = [m for m in (walk or group.members) if not known.isdisjoint(m.topics)]
    target: dict[str, list[TopicPartition]] = {}
    if active and all(len(group.subscribers(topic)) == len(active) for topic in known):
        target = plan_equal(group, holdings, active)
    elif active:
        target = plan_unequal(group, holdings, active)
    rank = {topic: index for index, topic in enumerate(known)}
    for tps in target.values():
        tps.sort(key=lambda tp: (rank[tp.topic], tp.partition))
    return {m.member_id: tuple(target.get(m.member_id, ())) for m in group.members}
