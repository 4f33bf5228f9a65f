"""The draft on which an assignor writes its answer, partition by partition.

Decides: what can be part of an assignment at all; it refuses the rest at once.
Never: judges balance, chooses a member.
KIPs: 429 (what still has an owner waits for the next round).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kgroup.assignors.assignment import GroupAssignment, withhold
from kgroup.assignors.claims import settle, stated_claim
from kgroup.assignors.member import Member
from kgroup.assignors.numbering import PartitionNumbering
from kgroup.errors import AssignmentError
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["Draft"]

NO_USER_DATA: Mapping[str, bytes] = MappingProxyType({})


class Draft:
    """An assignment being made; refuses at once what cannot be part of it.

    Args:
        members: whom it is about.
        partitions: what there is to give.
    """

    def __init__(self, members: Sequence[Member], partitions: PartitionNumbering) -> None:
        self._members = members
        self._partitions = partitions
        self._given: dict[str, list[TopicPartition]] = {m.member_id: [] for m in members}
        self._owner: dict[TopicPartition, Member | None] = {}

    def give(self, partition: TopicPartition, *, to: Member) -> None:
        """Give a partition to a member.

        Raises:
            AssignmentError: it does not exist, has been given, or the member does not subscribe
                to its topic or is not in the group.
        """
        if to.member_id not in self._given:
            raise AssignmentError(f"{partition} given to {to.member_id!r}, who is not a member")
        self._check_free(partition, f"given to {to.member_id!r}")
        if partition.topic not in to.topics:
            raise AssignmentError(
                f"{partition} given to {to.member_id!r}, which does not subscribe to its topic"
            )
        self._owner[partition] = to
        self._given[to.member_id].append(partition)

    def withhold(self, partition: TopicPartition) -> None:
        """Give a partition to nobody in this round; say when to look again with `rejoin_after`.

        Raises:
            AssignmentError: it does not exist, or has been given.
        """
        self._check_free(partition, "withheld")
        self._owner[partition] = None

    def load(self, member: Member) -> int:
        """Return how many partitions the member has been given so far."""
        return len(self._given[member.member_id])

    def owner(self, partition: TopicPartition) -> Member | None:
        """Return who has been given the partition, None while nobody has."""
        return self._owner.get(partition)

    def freeze(
        self,
        protocol: RebalanceProtocol = RebalanceProtocol.EAGER,
        *,
        user_data: Mapping[str, bytes] = NO_USER_DATA,
        rejoin_after: float | None = None,
    ) -> GroupAssignment:
        """Return the finished assignment.

        Args:
            protocol: with COOPERATIVE, what another member still holds is withheld until that
                member has handed it back; the draft itself has to be complete either way.
            user_data: member id -> bytes that travel with its partitions and come back in its
                next subscription.
            rejoin_after: seconds until the leader begins another round by itself, None for never.

        Raises:
            AssignmentError: some partition was neither given nor withheld.
        """
        missing = [tp for tp in self._partitions if tp not in self._owner]
        if missing:
            shown = ", ".join(str(tp) for tp in missing[:5])
            raise AssignmentError(f"{len(missing)} partitions were given to nobody: {shown}")
        withheld: dict[TopicPartition, str | None] = {
            tp: None for tp, owner in self._owner.items() if owner is None
        }
        given: Mapping[str, Sequence[TopicPartition]] = {
            member_id: tuple(tps) for member_id, tps in self._given.items()
        }
        if protocol is RebalanceProtocol.COOPERATIVE:
            indices = {who: self._partitions.indices_of(tps) for who, tps in given.items()}
            holdings = settle(self._members, stated_claim, self._partitions)
            first = withhold(indices, holdings, self._partitions)
            given, withheld = first.partitions, withheld | dict(first.withheld)
        return GroupAssignment(
            MappingProxyType(dict(given)),
            MappingProxyType(withheld),
            MappingProxyType(dict(user_data)),
            rejoin_after,
        )

    def _check_free(self, partition: TopicPartition, what: str) -> None:
        if partition not in self._partitions:
            raise AssignmentError(f"{partition} is not a partition of a subscribed topic")
        if partition not in self._owner:
            return
        earlier = self._owner[partition]
        holder = "it has been withheld" if earlier is None else f"{earlier.member_id!r} has it"
        raise AssignmentError(f"{partition} {what}, but {holder} already")
