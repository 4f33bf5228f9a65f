"""What DescribeGroups says of a generation that stands.

Decides: how its rows are read: which topics members ask for, which partitions they have, and what
the group remembers of a static member.
Never: asks; takes a round that is on for one that stands.
KIPs: 345.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.membership.described import IN_DOUBT, NEW, PASSED_OVER, Remembered
from kgroup.membership.requests import PROTOCOL_TYPE
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import DescribedGroupMember, DescribeGroupsDescribedGroup

__all__ = ["divided_topics", "remembered_of", "standing_members"]

_STABLE: Final = "Stable"
_DEAD: Final = "Dead"
"""The state that 3.x gives a group that is not there."""
_NO_TYPE: Final = ""
"""The protocol type of a group that nobody has joined yet."""


def standing_members(
    described: DescribeGroupsDescribedGroup,
) -> tuple[DescribedGroupMember, ...] | None:
    """Return the members of a generation that stands, None when none does."""
    stands = described.group_state == _STABLE and described.protocol_type == PROTOCOL_TYPE
    return described.members if stands else None


def remembered_of(
    described: DescribeGroupsDescribedGroup, group_instance_id: str | None
) -> Remembered:
    """Return what a group knows of a static member whose process has not joined yet.

    Args:
        described: what the coordinator says of the group.
        group_instance_id: of the member.

    Returns:
        New when there is no such group, or it stands and has no such member; passed over when it
        is in a round, or has just ended, without the member; in doubt when it is in a round with
        it, or is none of consumers, or when the coordinator says neither.

    Raises:
        DecodeError: what a member has asked for, or was assigned, cannot be read.
    """
    if described.error_code:
        return NEW if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND else IN_DOUBT
    members = standing_members(described)
    if members is None:
        if described.group_state == _DEAD:
            return NEW
        foreign = described.protocol_type not in (PROTOCOL_TYPE, _NO_TYPE)
        known = any(each.group_instance_id == group_instance_id for each in described.members)
        return IN_DOUBT if known or foreign else PASSED_OVER
    for each in members:
        if each.group_instance_id == group_instance_id:
            divided = _assigned_partitions(members)
            return Remembered(_asked_topics(each), frozenset(divided), MappingProxyType(divided))
    return NEW


def divided_topics(members: Iterable[DescribedGroupMember]) -> Mapping[str, int]:
    """Return topic -> partitions assigned, for every topic that one of the members asks for.

    Raises:
        DecodeError: what a member has asked for, or was assigned, cannot be read.
    """
    present = tuple(members)
    assigned = _assigned_partitions(present)
    wanted = {topic for each in present for topic in _asked_topics(each)}
    return {topic: assigned[topic] for topic in wanted}


def _asked_topics(member: DescribedGroupMember) -> frozenset[str]:
    """Return the topics that a member subscribes to.

    Raises:
        DecodeError: its bytes cannot be read.
    """
    return frozenset(decode_subscription(member.member_metadata).topics)


def _assigned_partitions(members: Iterable[DescribedGroupMember]) -> Counter[str]:
    """Count the partitions assigned of each topic.

    Raises:
        DecodeError: the bytes of one cannot be read.
    """
    found: Counter[str] = Counter()
    for member in members:
        found.update(tp.topic for tp in set(decode_assignment(member.member_assignment).partitions))
    return found
