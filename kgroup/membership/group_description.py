"""What the coordinator's DescribeGroups answer says of a group, before this member is in it.

Decides: how the answer is read: which topics members subscribe to, which partitions they are
assigned, and what the group remembers of a static member.
Never: asks; takes a group that is rebalancing for a stable one.
KIPs: 345.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from types import MappingProxyType
from typing import Final

from kgroup.codes import ErrorCode
from kgroup.values import dataclass
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.messages import DescribedGroupMember, DescribeGroupsDescribedGroup

PROTOCOL_TYPE: Final = "consumer"


@dataclass(frozen=True, slots=True)
class GroupInUse:
    """What the coordinator says of a group that has no assignor in common with this member.

    Args:
        protocol_type: what kind of members it has, "consumer" for consumers.
        assignor: the one in use, None between two generations.
        client_ids: one per member, sorted.
    """

    protocol_type: str
    assignor: str | None
    client_ids: tuple[str, ...]


OTHER_PROTOCOL: Final = GroupInUse(PROTOCOL_TYPE, None, ())
"""A group that is there, and of which no classic member can be told: those in it speak another
protocol, such as that of KIP-848."""


class Said(Enum):
    """How much a coordinator could say of a static member."""

    KNOWN = "what it asked for"
    NEW = "the stable group has no such member"
    LEFT_OUT = "the round that is on has no such member"
    NOTHING = "nothing, though there may be one"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a Stable group knew of a static member before this process joined (KIP-345).

    Args:
        topics: what the process before asked for.
        assigned: topics of which any member of the group was assigned a partition.
        divided: topic -> how many of its partitions were assigned; none of a topic that is absent,
            or not known, where `assigned` has it.
        said: how much could be said. Unless it is `KNOWN`, all else is empty.
    """

    topics: frozenset[str]
    assigned: frozenset[str]
    divided: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    said: Said = Said.KNOWN


IN_DOUBT: Final = Remembered(frozenset(), frozenset(), said=Said.NOTHING)
"""What is remembered when the answer does not tell: a round is on, and the group knows an earlier
process, or there was no answer that can be read."""

NEW: Final = Remembered(frozenset(), frozenset(), said=Said.NEW)
"""There is nothing to remember, and nothing to come back to: a JoinGroup begins a round."""

LEFT_OUT: Final = Remembered(frozenset(), frozenset(), said=Said.LEFT_OUT)
"""There is nothing to remember if the round that is on comes to its end. If it does not, because
the coordinator resigns, the next one loads the generation before, and that may have the member."""

_STABLE: Final = "Stable"
DEAD: Final = "Dead"
"""The state of a group that is not there; before DescribeGroups 6 no error says so."""
_NO_TYPE: Final = ""
"""The protocol type of a group that nobody has joined yet."""


def stable_members(
    described: DescribeGroupsDescribedGroup,
) -> tuple[DescribedGroupMember, ...] | None:
    """Return the members of a stable group, None when it is not stable."""
    stable = described.group_state == _STABLE and described.protocol_type == PROTOCOL_TYPE
    return described.members if stable else None


def remembered_of(
    described: DescribeGroupsDescribedGroup, group_instance_id: str | None
) -> Remembered:
    """Return what a group knows of a static member whose process has not joined yet.

    Args:
        described: what the coordinator says of the group.
        group_instance_id: of the member.

    Returns:
        New when there is no such group, or it is stable and has no such member; left out when it
        is in a round, or has just ended, without the member; in doubt when it is in a round with
        it, or is not a group of consumers, or when the coordinator says neither.

    Raises:
        DecodeError: what a member has asked for, or was assigned, cannot be read.
    """
    if described.error_code:
        return NEW if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND else IN_DOUBT
    members = stable_members(described)
    if members is None:
        if described.group_state == DEAD:
            return NEW
        foreign = described.protocol_type not in (PROTOCOL_TYPE, _NO_TYPE)
        known = any(each.group_instance_id == group_instance_id for each in described.members)
        return IN_DOUBT if known or foreign else LEFT_OUT
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
