"""An assignor whose members can leave single partitions to others for a while.

Decides: who gets a partition that a member has asked not to have.
Never: moves anything else for that; takes a partition before its owner has handed it back.
KIPs: 429.

1. A member says in its user data that it leaves p, and asks for a round. 2. The leader means p for
another member, so this one revokes it, as in every cooperative round, and joins again. 3. Nobody
has p now: it is given. 4. After a while the member leaves p no more; one more round evens out.

Partitions that nobody leaves are divided as if the others were not there, so they stay where they
are. A member that is alone keeps what it leaves: better late than never.
"""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from kgroup.assignors import (
    Draft,
    GroupAssignment,
    GroupSubscription,
    LastAssignment,
    Member,
    RebalanceProtocol,
)
from kgroup.types import TopicPartition

_MOST_BYTES: Final = 65_536
"""Of one member's user data: a coordinator keeps what all say in one record."""


class YieldingAssignor:
    """Divides equally and cooperatively; a member may leave single partitions to others.

    Give each consumer an instance of its own, and all members of the group the same class:

        Consumer("orders", group_id="billing", assignors=[YieldingAssignor()])

    A `Processor` with the strategy `Relinquish` uses it then, and gives up one partition, not all.
    """

    name: ClassVar[str] = "yielding"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.COOPERATIVE,)

    def __init__(self) -> None:
        self._left: set[TopicPartition] = set()

    def leave(self, tp: TopicPartition) -> None:
        """Ask not to have a partition, from the next round on."""
        self._left.add(tp)

    def want(self, tp: TopicPartition) -> None:
        """Ask so no more."""
        self._left.discard(tp)

    def encode_user_data(
        self,
        owned: LastAssignment,  # noqa: ARG002 - travels in the subscription itself
        generation_id: int | None,  # noqa: ARG002 - likewise
    ) -> bytes | None:
        """Return what this member leaves, None when that is nothing."""
        if not self._left:
            return None
        told = json.dumps(sorted(self._left), separators=(",", ":")).encode()
        return told if len(told) <= _MOST_BYTES else None

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide the partitions; what is left by its owner moves, and nothing else for that."""
        left = {member.member_id: _read(member.user_data) for member in group.members}
        owners = _owners(group)
        draft = group.draft()
        for audience in group.audiences:
            unwanted = frozenset[TopicPartition]().union(
                *(left[member.member_id] for member in audience.members)
            )
            every = [tp for topic in audience.topics for tp in group.partitions_of(topic)]
            _divide(draft, audience.members, [tp for tp in every if tp not in unwanted], owners)
            for tp in every:
                if tp in unwanted:
                    _give(draft, audience.members, tp, owners, left)
        return draft.freeze(RebalanceProtocol.COOPERATIVE)


def _give(
    draft: Draft,
    members: Sequence[Member],
    tp: TopicPartition,
    owners: Mapping[TopicPartition, Member],
    left: Mapping[str, frozenset[TopicPartition]],
) -> None:
    """Give a partition that somebody leaves to one who does not, or to anyone if all do."""
    willing = [member for member in members if tp not in left[member.member_id]] or members
    owner = owners.get(tp)
    to = owner if owner is not None and owner in willing else min(willing, key=draft.load)
    draft.give(tp, to=to)


def _divide(
    draft: Draft,
    members: Sequence[Member],
    partitions: Sequence[TopicPartition],
    owners: Mapping[TopicPartition, Member],
) -> None:
    """Give everybody the same number, first of what it has."""
    share, extra = divmod(len(partitions), len(members))
    count = {member.member_id: 0 for member in members}
    free: list[TopicPartition] = []
    for tp in partitions:
        owner = owners.get(tp)
        had = None if owner is None else count.get(owner.member_id)
        if owner is None or had is None or had >= share + (extra > 0):
            free.append(tp)
            continue
        extra -= had == share
        count[owner.member_id] += 1
        draft.give(tp, to=owner)
    for tp in free:
        to = min(members, key=lambda member: (count[member.member_id], draft.load(member)))
        count[to.member_id] += 1
        draft.give(tp, to=to)


def _owners(group: GroupSubscription) -> dict[TopicPartition, Member]:
    """Return who holds what; the newest generation is believed."""

    def generation(member: Member) -> int:
        return -1 if member.generation_id is None else member.generation_id

    return {tp: member for member in sorted(group.members, key=generation) for tp in member.owned}


def _read(data: bytes | None) -> frozenset[TopicPartition]:
    """Return what a member leaves; nothing where the bytes are somebody else's."""
    if not data or len(data) > _MOST_BYTES:
        return frozenset()
    try:
        return frozenset(
            TopicPartition(str(topic), int(number)) for topic, number in json.loads(data)
        )
    except (ValueError, TypeError, OverflowError, RecursionError):
        return frozenset()
