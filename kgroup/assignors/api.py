"""What an assignor is: two facts and one pure function.

Decides: the interface of built-in and third-party assignors.
Never: offers an assignor a clock, chance, a connection or memory between rounds; memory belongs
to the member and travels in its subscription.
KIPs: 54, 429.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["Assignor", "UserDataAssignor"]


@runtime_checkable
class Assignor(Protocol):
    """Divides the partitions of a group among its members; runs at the leader."""

    @property
    def name(self) -> str:
        """The name on the wire, by which the members of a group agree on an assignor."""
        ...

    @property
    def supported_protocols(self) -> tuple[RebalanceProtocol, ...]:
        """The protocols it may be used with; COOPERATIVE promises the two-phase rule."""
        ...

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions; equal groups must give equal assignments.

        Args:
            group: all members and all partitions there are to give.

        Raises:
            AssignmentError: no assignment is possible; the round fails.
        """
        ...


@runtime_checkable
class UserDataAssignor(Assignor, Protocol):
    """An assignor whose members send user data with their subscription."""

    def encode_user_data(
        self, owned: Sequence[TopicPartition], generation_id: int | None
    ) -> bytes | None:
        """Return the bytes this member sends, None for none.

        Args:
            owned: what it held last, also when it has handed that back in order to rejoin.
            generation_id: the generation it held that in, None before the first assignment.
        """
        ...
