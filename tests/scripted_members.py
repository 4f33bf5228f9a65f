"""The members of a scripted group, and what they have committed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from kgroup.testing.scripted import Held
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_subscription,
)

__all__ = ["Committed", "GroupPhase", "ScriptedMember", "phantom_claims"]


class GroupPhase(Enum):
    """The states of a group, in Kafka's words."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class Committed:
    """One accepted offset of one partition."""

    tp: TopicPartition
    offset: int
    metadata: str | None
    leader_epoch: int
    member_id: str
    generation_id: int


@dataclass(slots=True, eq=False)
class ScriptedMember:
    member_id: str
    instance_id: str | None
    session: float = math.inf
    patience: float = 0.0
    protocols: Mapping[str, bytes] = field(default_factory=dict)
    heard_at: float = 0.0
    join: Held | None = None
    sync: Held | None = None
    assignment: bytes = b""
    phantom: bool = False

    @property
    def ready(self) -> bool:
        return self.phantom or self.join is not None


def phantom_claims(member: ScriptedMember, blob: bytes, generation_id: int) -> bytes:
    """Return the subscription of a phantom: it claims what it was given in the round before."""
    given = member.assignment and decode_assignment(member.assignment).partitions
    return encode_subscription(
        MemberSubscription(
            topics=decode_subscription(blob).topics,
            owned=tuple(given or ()),
            generation_id=generation_id - 1,
        )
    )
