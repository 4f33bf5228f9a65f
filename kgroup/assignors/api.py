"""What an assignor is: two facts and one pure function.

Decides: the interface of built-in and third-party assignors; which rebalance protocol a member
follows: the highest that all assignors it offers support. A member has to know it before it joins,
so what the group chose plays no part. A rolling change that lists a cooperative and an eager
assignor together is eager until the eager one is dropped (KIP-429).
Never: offers an assignor a clock, chance, a connection or memory between rounds; memory belongs
to the member and travels in its subscription.
KIPs: 54, 429.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self, runtime_checkable

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.group import GroupSubscription
from kgroup.errors import ConfigError
from kgroup.types import RebalanceProtocol, TopicPartition

USER_DATA_LIMIT = 1_048_576
"""Bytes of user data that one member may send or be given. A coordinator keeps what all members
said in one record, and by default brokers take no record larger than this."""


class LastAssignment(tuple[TopicPartition, ...]):  # noqa: SLOT001 - a tuple has no room for slots
    """What a member held last: its partitions, and the bytes that came with them.

    Equal to the tuple of its partitions, which are in order; empty after a loss.
    """

    _user_data: bytes | None

    def __new__(
        cls, partitions: Iterable[TopicPartition] = (), user_data: bytes | None = None
    ) -> Self:
        """Return the partitions as a tuple that also knows the user data.

        Args:
            partitions: what the member held.
            user_data: see the property.
        """
        made = super().__new__(cls, partitions)
        made._user_data = user_data
        return made

    @property
    def user_data(self) -> bytes | None:
        """What the leader's assignor of the same name gave with the last assignment, None without.

        It outlives a loss of the partitions, so it may be older than what other members have.
        """
        return self._user_data

    def __repr__(self) -> str:
        return f"LastAssignment({tuple(self)!r}, user_data={self._user_data!r})"


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

        For a large group it is called in a thread of its own, for a small one on the event loop.

        Args:
            group: all members and all partitions there are to give.

        Raises:
            AssignmentError: no assignment is possible; the round fails.
        """
        ...


@runtime_checkable
class UserDataAssignor(Assignor, Protocol):
    """An assignor whose members make the user data that they send with their subscription.

    Members of any other assignor send back what came with their last assignment, byte for byte.
    """

    def encode_user_data(self, owned: LastAssignment, generation_id: int | None) -> bytes | None:
        """Return the bytes this member sends, None for none; called before every JoinGroup.

        Equal arguments must give equal bytes: a coordinator takes other bytes for a change and
        begins a round. If it raises, or returns anything but at most `USER_DATA_LIMIT` bytes,
        the membership ends with an `AssignorError` before anything is sent.

        Args:
            owned: what the member held last, also when it has handed that back in order to
                rejoin; `owned.user_data` is what came with it.
            generation_id: the generation it was given that in, None before the first assignment
                and after a loss.
        """
        ...


def common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """Return COOPERATIVE when every assignor supports it, else EAGER when every one does.

    Raises:
        ConfigError: no assignor is given, or they have no protocol in common.
    """
    for protocol in (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER):
        if assignors and all(protocol in each.supported_protocols for each in assignors):
            return protocol
    offered = {each.name: [p.value for p in each.supported_protocols] for each in assignors}
    raise ConfigError("assignors", offered, "at least one, with a rebalance protocol in common")
