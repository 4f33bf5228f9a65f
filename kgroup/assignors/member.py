"""One member of the group and one partition's racks, as an assignor sees them.

Decides: the shapes, and the one order of members that every built-in assignor uses.
Never: reads bytes; see `leader`.
KIPs: 345 (static members come first), 881 (racks).
"""

from collections.abc import Mapping, Sequence

from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.classic_bytes import utf16_order


@dataclass(frozen=True, slots=True)
class PartitionRacks:
    """Where the replicas of one partition are.

    Args:
        leader: rack of the leader, None when it has none or is not known.
        replicas: racks of all replicas, in sync or not; empty when brokers have no racks.
    """

    leader: str | None = None
    replicas: frozenset[str] = frozenset()


TopicsMetadata = Mapping[str, Mapping[int, PartitionRacks]]
"""Topic -> partition number -> racks; a topic without metadata is absent or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of the group, with what it sent the leader.

    Args:
        member_id: the id the coordinator gave it.
        topics: what it subscribes to; empty is possible and gets nothing.
        group_instance_id: static identity, None for a dynamic member (KIP-345).
        rack: where it runs, None when not known (KIP-881).
        owned: partitions it says it holds, unchecked; empty for an eager member.
        generation_id: the generation it was given them in, None when not known.
        user_data: bytes its assignor put there, or those that the leader's assignor gave it last
            (`GroupAssignment.user_data`); None without.
        version: version of its subscription.
        unreadable: why its subscription could not be read, None when it could; such a member
            subscribes to nothing.
    """

    member_id: str
    topics: frozenset[str]
    group_instance_id: str | None = None
    rack: str | None = None
    owned: Sequence[TopicPartition] = ()
    generation_id: int | None = None
    user_data: bytes | None = None
    version: int = 3
    unreadable: str | None = None


def member_order(member: Member) -> tuple[bool, bytes, bytes]:
    """Return the sorting key: static members by instance id, then dynamic ones by member id.

    Strings compare by UTF-16 code unit, as in Java, so that leaders of either kind agree.
    """
    identity = member.group_instance_id
    member_id = utf16_order(member.member_id)
    if identity is None:
        return True, member_id, b""
    return False, utf16_order(identity), member_id
