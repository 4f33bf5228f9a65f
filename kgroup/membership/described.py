"""What a coordinator says of a group when it is asked before this member is in it.

Decides: nothing; these values come with answers.
Never: a broker's own words; who asks reads them.
KIPs: 345.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

__all__ = ["IN_DOUBT", "NEW", "PASSED_OVER", "GroupInUse", "Remembered", "Said"]


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


class Said(Enum):
    """How much a coordinator could say of a static member."""

    KNOWN = "what it asked for"
    NEW = "the group that stands has no such member"
    PASSED_OVER = "the round that is on has no such member"
    NOTHING = "nothing, though there may be one"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a Stable group knew of a static member before this process joined (KIP-345).

    Args:
        topics: what the process before asked for.
        assigned: topics of which somebody in the group, whoever it is, was assigned a partition.
        divided: topic -> how many of its partitions were assigned; none of a topic that is absent,
            or not known, where `assigned` has it.
        said: how much could be said. Unless it is `KNOWN`, all else is empty.
    """

    topics: frozenset[str]
    assigned: frozenset[str]
    divided: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    said: Said = Said.KNOWN


IN_DOUBT: Final = Remembered(frozenset(), frozenset(), said=Said.NOTHING)
"""What is remembered when nobody can tell: a round is on, and the group knows a process before
this one, or there was no answer that can be read."""

NEW: Final = Remembered(frozenset(), frozenset(), said=Said.NEW)
"""There is nothing to remember, and nothing to come back to: a JoinGroup begins a round."""

PASSED_OVER: Final = Remembered(frozenset(), frozenset(), said=Said.PASSED_OVER)
"""There is nothing to remember if the round that is on comes to its end. If it does not, because
the coordinator resigns, the next one loads the generation before, and that may have the member."""
