"""The result of an assignor: who gets what, and what nobody gets yet.

Decides: how a target becomes the result of a cooperative round.
Never: checks itself; `Draft.freeze` and `verify` do.
KIPs: 429 (what still has an owner is given only in the next round).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kgroup.assignors.claims import Holdings
from kgroup.types import TopicPartition

__all__ = ["GroupAssignment", "withhold"]


@dataclass(frozen=True, slots=True)
class GroupAssignment:
    """What every member gets.

    Args:
        partitions: member id -> its partitions; a member that is missing gets nothing.
        withheld: partition -> the member that gets it once its present owner has handed it
            back, None while nobody shall have it; nobody has it in this round.
        user_data: member id -> bytes that travel with its partitions. The member sends them
            back in its next subscription, unless the assignor encodes user data of its own.
        rejoin_after: seconds after which the leader begins another round by itself, None for
            never; what is withheld for a time is given then.
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


def withhold(target: Mapping[str, Iterable[TopicPartition]], holdings: Holdings) -> GroupAssignment:
    """Take from a target whatever another member has to hand back first.

    Args:
        target: member id -> the partitions it shall have in the end.
        holdings: who holds what now.
    """
    given: dict[str, tuple[TopicPartition, ...]] = {}
    withheld: dict[TopicPartition, str | None] = {}
    for member_id, partitions in target.items():
        free: list[TopicPartition] = []
        for tp in partitions:
            if holdings.may_have(tp, member_id):
                free.append(tp)
            else:
                withheld[tp] = member_id
        given[member_id] = tuple(free)
    return GroupAssignment(MappingProxyType(given), MappingProxyType(withheld))
