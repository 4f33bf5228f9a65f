"""An answer as a value.

Decides: when two answers are the same: a member that is left out of `partitions` has the same as
one with an empty entry.
Never: judges.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgroup.assignors.assignment import GroupAssignment
from kgroup.types import TopicPartition

__all__ = ["Essence", "essence"]


@dataclass(frozen=True, slots=True)
class Essence:
    """An answer as a value: equal when it makes no difference which of the two is sent."""

    partitions: Mapping[str, tuple[TopicPartition, ...]]
    withheld: Mapping[TopicPartition, str | None]
    user_data: Mapping[str, bytes]
    rejoin_after: float | None

    @property
    def sets(self) -> "Essence":
        """The same without the order within a member's partitions."""
        given = {who: tuple(sorted(each)) for who, each in self.partitions.items()}
        return replace(self, partitions=given)


def essence(answer: GroupAssignment) -> Essence:
    """Return an answer as a value."""
    after = answer.rejoin_after
    return Essence(
        {who: tuple(given) for who, given in answer.partitions.items() if len(given)},
        dict(answer.withheld),
        dict(answer.user_data),
        None if after != after else after,
    )
