"""The leader's errand at this level: from the members' subscriptions to the bytes of SyncGroup.

Decides: nothing that `kgroup.assignors` does not; the metadata is the cluster's, at once.
Never: keeps anything.
KIPs: 345, 429, 814 (a static leader that came back asks what was assigned).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

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
from kgroup.errors import DecodeError, GroupError, KGroupError
from kgroup.membership.described import IN_DOUBT, Remembered
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.standing import divided_topics, remembered_of, standing_members
from kgroup.membership.value import GroupMember
from kgroup.types import RebalanceProtocol

__all__ = ["lead", "looked", "recalled"]

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
    try:
        members = read_members(_joined(effect), protocol, effect.sent)
        watched = _counted(subscribed_topics(members), counts)
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
        watched,
        rejoin_after=assignment.rejoin_after,
        sent=sent,
    )


def looked(
    effect: RunAssignor,
    member: GroupMember,
    answer: Any | None,  # of any version
    why: str,
) -> AssignorDone | AssignorFailed:
    """Return what the coordinator says was given out; without that, a leader looks at what is now.

    Args:
        effect: the errand.
        member: whose it is.
        answer: to DescribeGroups; None without one.
        why: there is none.
    """
    if answer is None or answer.groups[0].error_code:
        return _looked_around(effect, member, GroupError(why))
    standing = standing_members(answer.groups[0])
    if standing is None and not effect.follows:
        return _looked_around(effect, member, GroupError("no generation stands"))
    try:
        counts = {} if standing is None else divided_topics(standing)
        return AssignorDone(effect.ticket, (), counts)
    except DecodeError as error:
        return _looked_around(effect, member, error)


def _looked_around(
    effect: RunAssignor, member: GroupMember, error: KGroupError
) -> AssignorDone | AssignorFailed:
    if effect.follows or not effect.members:
        return AssignorFailed(effect.ticket, error)
    try:
        members = read_members(_joined(effect), member.protocol)
    except KGroupError as unreadable:
        return AssignorFailed(effect.ticket, unreadable)
    return AssignorDone(effect.ticket, (), _counted(subscribed_topics(members), member.counts))


def _joined(effect: RunAssignor) -> list[tuple[str, str | None, bytes]]:
    return [(m.member_id, m.group_instance_id, bytes(m.metadata)) for m in effect.members]


def _counted(topics: frozenset[str], counts: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType({topic: counts.get(topic, 0) for topic in sorted(topics)})


def recalled(answer: Any | None, instance_id: str | None) -> Remembered | None:
    """Return what the coordinator remembers of a static member; in doubt when it cannot be read.

    Args:
        answer: to DescribeGroups; None without one.
        instance_id: of the member.
    """
    if answer is None:
        return IN_DOUBT
    try:
        return remembered_of(answer.groups[0], instance_id)
    except DecodeError:
        return IN_DOUBT
