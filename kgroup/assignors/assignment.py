"""The result of an assignor: what each member gets, and what is withheld for now.

Decides: how a target becomes the result of a cooperative round; what a `Draft`, on which an
assignor writes its answer partition by partition, refuses at once.
Never: judges balance or chooses a member.
KIPs: 429 (what still has an owner is given only in the next round).
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from kgroup.assignors.claims import SettledClaims, settle, stated_claim
from kgroup.assignors.member import Member
from kgroup.assignors.numbering import PartitionNumbering
from kgroup.errors import AssignmentError
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """What every member gets.

    Args:
        partitions: member id -> its partitions, for every member, also for one that gets none.
        withheld: partition -> the member that gets it once its present owner has handed it
            back, None when no member shall have it yet; in this round no member has it.
        user_data: member id -> bytes that travel with its partitions. The member sends them
            back in its next subscription, unless the assignor encodes user data of its own.
        rejoin_after: seconds after which the leader begins another round by itself, None for
            never; less than one counts as one. What is withheld for a time is given then.
    """

    partitions: Mapping[str, Sequence[TopicPartition]]
    withheld: Mapping[TopicPartition, str | None] = field(
        default_factory=lambda: MappingProxyType({})
    )
    user_data: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    rejoin_after: float | None = None

    def of(self, member_id: str) -> Sequence[TopicPartition]:
        """Return what one member gets, empty when it is not mentioned."""
        return self.partitions.get(member_id, ())


def withhold(
    target: Mapping[str, Sequence[int]], settled: SettledClaims, partitions: PartitionNumbering
) -> GroupAssignment:
    """Take from a target whatever another member has to hand back first.

    Args:
        target: every member's id -> the partitions it shall have in the end, as indices.
        settled: what members hold now.
        partitions: what the indices mean.
    """
    if not settled.disputed and not any(settled.held.values()):
        return assigned(target, partitions)
    nobody = len(target)
    owner = array("i", [nobody]) * len(partitions)
    for place, member_id in enumerate(target):
        for index in settled.held.get(member_id, ()):
            owner[index] = place
    for index in settled.disputed:
        owner[index] = -1
    given: dict[str, Sequence[TopicPartition]] = {}
    withheld: dict[TopicPartition, str | None] = {}
    for place, (member_id, indices) in enumerate(target.items()):
        waiting = [index for index in indices if owner[index] not in (place, nobody)]
        withheld.update((partitions[index], member_id) for index in waiting)
        gone = set(waiting)
        free = [index for index in indices if index not in gone] if gone else indices
        given[member_id] = partitions.select(free)
    return GroupAssignment(MappingProxyType(given), MappingProxyType(withheld))


def assigned(
    target: Mapping[str, Sequence[int]], partitions: PartitionNumbering
) -> GroupAssignment:
    """Turn a target in indices into an assignment, withholding nothing."""
    given = {member_id: partitions.select(indices) for member_id, indices in target.items()}
    return GroupAssignment(MappingProxyType(given))


NO_USER_DATA: Mapping[str, bytes] = MappingProxyType({})


class Draft:
    """An assignment being made; refuses at once what cannot be part of it.

    Args:
        members: of the group.
        partitions: what there is to give.
        generation_id: the generation that is being made, None when not known.
    """

    def __init__(
        self,
        members: Sequence[Member],
        partitions: PartitionNumbering,
        generation_id: int | None = None,
    ) -> None:
        self._members = members
        self._generation_id = generation_id
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
        """Give a partition to no member in this round; `rejoin_after` says when to look again.

        Raises:
            AssignmentError: it does not exist, or has been given.
        """
        self._check_free(partition, "withheld")
        self._owner[partition] = None

    def load(self, member: Member) -> int:
        """Return how many partitions the member has been given so far."""
        return len(self._given[member.member_id])

    def owner(self, partition: TopicPartition) -> Member | None:
        """Return the member that was given the partition, None while no member was."""
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
            settled = settle(self._members, stated_claim, self._partitions, self._generation_id)
            first = withhold(indices, settled, self._partitions)
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
