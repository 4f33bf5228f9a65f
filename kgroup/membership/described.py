"""What a coordinator says of a group when it is asked before this member is in it.

Decides: nothing; these values come with answers.
Never: a broker's own words; who asks reads them.
KIPs: 345.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

__all__ = ["IN_DOUBT", "GroupInUse", "Remembered"]


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


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a Stable group knew of a static member before this process joined (KIP-345).

    Args:
        topics: what the process before asked for.
        assigned: topics of which somebody in the group, whoever it is, was assigned a partition.
        divided: topic -> how many of its partitions were assigned; none of a topic that is absent,
            or not known, where `assigned` has it.
        in_doubt: the group may know a process before this one, but could not say what: a round
            was on, or there was no answer that can be read. All else is empty then.
    """

    topics: frozenset[str]
    assigned: frozenset[str]
    divided: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    in_doubt: bool = False


IN_DOUBT: Final = Remembered(frozenset(), frozenset(), in_doubt=True)
"""What is remembered when nobody can tell."""
