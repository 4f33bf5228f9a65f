"""The result of an assignor: who gets what, and what nobody gets yet.

Decides: how a target becomes the result of a cooperative round.
Never: checks itself; `Draft.freeze` and `verify` do.
KIPs: 429 (what still has an owner is given only in the next round).
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kgroup.assignors.claims import Holdings
from kgroup.assignors.numbering import PartitionNumbering
from kgroup.types import TopicPartition

__all__ = ["GroupAssignment", "assigned", "withhold"]


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """What every member gets.

    Args:
        partitions: member id -> its partitions, for every member, also for one that gets none.
        withheld: partition -> the member that gets it once its present owner has handed it
            back, None while nobody shall have it; nobody has it in this round.
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
    target: Mapping[str, Sequence[int]], holdings: Holdings, partitions: PartitionNumbering
) -> GroupAssignment:
    """Take from a target whatever another member has to hand back first.

    Args:
        target: every member's id -> the partitions it shall have in the end, as indices.
        holdings: who holds what now.
        partitions: what the indices mean.
    """
    if not holdings.disputed and not any(holdings.held.values()):
        return assigned(target, partitions)
    nobody = len(target)
    owner = array("i", [nobody]) * len(partitions)
    for place, member_id in enumerate(target):
        for index in holdings.held.get(member_id, ()):
            owner[index] = place
    for index in holdings.disputed:
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
