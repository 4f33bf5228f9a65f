"""The leader's errand at this level: from the members' subscriptions to the bytes of SyncGroup.

Decides: nothing that `kgroup.assignors` does not; the metadata is the cluster's, at once.
Never: keeps anything.
KIPs: 429, 814.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.assignors import (
    Assignor,
    GroupSubscription,
    PartitionRacks,
    SentAssignment,
    divide,
    encode_group_assignment,
    read_members,
    subscribed_topics,
)
from kgroup.errors import KGroupError
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.types import RebalanceProtocol

__all__ = ["lead"]

_NO_RACKS: Final = PartitionRacks()


def lead(
    effect: RunAssignor, assignors: tuple[Assignor, ...], counts: Mapping[str, int], now: float
) -> AssignorDone | AssignorFailed:
    """Compute the assignment of a round.

    Args:
        effect: the errand.
        assignors: of the member.
        counts: topic -> partitions, as the member knows them.
        now: instant, seconds.
    """
    assignor = next(each for each in assignors if each.name == effect.protocol_name)
    cooperates = RebalanceProtocol.COOPERATIVE in assignor.supported_protocols
    protocol = RebalanceProtocol.COOPERATIVE if cooperates else RebalanceProtocol.EAGER
    joined = [(m.member_id, m.group_instance_id, bytes(m.metadata)) for m in effect.members]
    try:
        members = read_members(joined, protocol, effect.sent)
        wanted = subscribed_topics(members)
        watched = {topic: counts.get(topic, 0) for topic in sorted(wanted)}
        if effect.unasked:
            return AssignorDone(effect.ticket, (), MappingProxyType(watched))
        topics = {
            topic: dict.fromkeys(range(count), _NO_RACKS)
            for topic, count in watched.items()
            if count
        }
        group = GroupSubscription(members, topics, now)
        assignment = divide(assignor, group, protocol)
    except KGroupError as error:
        return AssignorFailed(effect.ticket, error)
    encoded = encode_group_assignment(group, assignment)
    sent = None
    if protocol is RebalanceProtocol.COOPERATIVE:
        sent = SentAssignment.of(
            effect.generation_id, group.members, encoded, effect.sent, assignment.withheld
        )
    return AssignorDone(
        effect.ticket,
        tuple(encoded.items()),
        MappingProxyType(watched),
        rejoin_after=assignment.rejoin_after,
        sent=sent,
    )
