"""What assignors of aiokafka and kafka-python are handed: values with the attributes they read.

Decides: which attributes there are, so that both kinds find theirs without either package.
Never: imports a peer, knows brokers; what a group's description does not hold is not there.
KIPs: 429 (owned partitions), 792 (generation of a subscription), 881 (rack).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.types import TopicPartition

__all__ = ["PeerAssignment", "PeerCluster", "PeerMember", "PeerSubscription", "TopicRow"]

_NO_GENERATION = -1
_VERSION = 3


class TopicRow(NamedTuple):
    """Partitions of one topic; read by attribute and as a pair."""

    topic: str
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class PeerSubscription:
    """A subscription; aiokafka calls the topics `subscription`, kafka-python `topics`.

    Args:
        topics: names, sorted.
        user_data: empty without.
        owned_partitions: what the member says it holds.
        generation_id: -1 when not told, as both peers have it.
        rack_id: None when not told.
        version: of the subscription on the wire.
    """

    topics: list[str]
    user_data: bytes
    owned_partitions: list[TopicRow]
    generation_id: int = _NO_GENERATION
    rack_id: str | None = None
    version: int = _VERSION

    @property
    def subscription(self) -> list[str]:
        """The topics, under aiokafka's name."""
        return self.topics

    @staticmethod
    def of(member: Member) -> "PeerSubscription":
        """Return what a member of the group said."""
        generation_id = member.generation_id
        return PeerSubscription(
            topics=sorted(member.topics),
            user_data=member.user_data or b"",
            owned_partitions=_rows(member.owned),
            generation_id=_NO_GENERATION if generation_id is None else generation_id,
            rack_id=member.rack,
            version=member.version,
        )


@dataclass(frozen=True, slots=True)
class PeerMember:
    """One member, as kafka-python lists them."""

    member_id: str
    group_instance_id: str | None
    metadata: PeerSubscription


@dataclass(frozen=True, slots=True)
class PeerAssignment:
    """A member's last assignment.

    Args:
        assignment: its partitions by topic.
        user_data: empty without.
        version: of the assignment on the wire.
    """

    assignment: list[TopicRow]
    user_data: bytes = b""
    version: int = _VERSION

    @property
    def assigned_partitions(self) -> list[TopicRow]:
        """The partitions by topic, under kafka-python's name."""
        return self.assignment

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions one by one."""
        return [TopicPartition(row.topic, number) for row in self.assignment for number in row[1]]

    @staticmethod
    def of(owned: Sequence[TopicPartition], user_data: bytes | None) -> "PeerAssignment":
        """Return the assignment of these partitions."""
        return PeerAssignment(_rows(owned), user_data or b"")


class PeerCluster:
    """The metadata of the group's topics, with the two calls that assignors make.

    Args:
        group: what it is about.
    """

    def __init__(self, group: GroupSubscription) -> None:
        self._group = group

    def topics(
        self,
        exclude_internal_topics: bool = True,  # noqa: ARG002, FBT001, FBT002 - the peers' signature
    ) -> set[str]:
        """Return the topics that have partitions to give."""
        return set(self._group.topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the numbers of a topic's partitions, None for one without metadata."""
        numbers = self._group.topics.get(topic)
        return None if numbers is None else set(numbers)

    def __getattr__(self, name: str) -> object:
        raise AttributeError(
            f"the cluster that kgroup hands to another client's assignor has no {name!r}, "
            "only topics() and partitions_for_topic(topic); racks and the rest are known to "
            "assignors that are written for kgroup"
        )


def _rows(partitions: Sequence[TopicPartition]) -> list[TopicRow]:
    return [
        TopicRow(topic, [tp.partition for tp in run])
        for topic, run in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]
