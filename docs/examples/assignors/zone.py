"""Members read from brokers of their own zone: traffic between zones costs money and time.

Each partition goes to a member in the rack of its leader, from which a consumer fetches unless
it is told otherwise; within a zone sizes differ by at most one, and members keep what they have.
Partitions of a zone in which nobody runs are divided among all.

Members tell their zone with the option `client_rack`; brokers have theirs from `broker.rack`.

Why every leader decides the same: the answer depends on nothing but the group it is given, and
goes through members and partitions in the group's own order. It needs no memory: cooperative
members say what they hold. After a change the group settles in two rounds, because what a
member keeps in the first one is never more than its share in the second.

The price: zone comes before balance. If half of the leaders are in a zone where one member of
ten runs, that member gets half of all partitions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from kgroup.assignors import Draft, GroupAssignment, GroupSubscription, Member, RebalanceProtocol
from kgroup.types import TopicPartition

__all__ = ["ZoneAssignor"]


class ZoneAssignor:
    """Divide the partitions of each zone among the members that run there (KIP-881)."""

    name: ClassVar[str] = "zone"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (
        RebalanceProtocol.COOPERATIVE,
        RebalanceProtocol.EAGER,
    )

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Divide zone by zone."""
        draft = group.draft()
        owners = _owners(group)
        for members, partitions in _zones(group):
            _divide(draft, members, partitions, owners)
        return draft.freeze(RebalanceProtocol.COOPERATIVE)


def _owners(group: GroupSubscription) -> Mapping[TopicPartition, Member]:
    """Return who says it holds what; the newest generation is believed."""
    oldest_first = sorted(
        group.members, key=lambda m: -1 if m.generation_id is None else m.generation_id
    )
    return {partition: member for member in oldest_first for partition in member.owned}


def _zones(group: GroupSubscription) -> Iterator[tuple[Sequence[Member], Sequence[TopicPartition]]]:
    """Yield partitions together with those who may have them and are near."""
    for audience in group.audiences:  # topics that the same members subscribe to
        occupied = {member.rack for member in audience.members}
        zones: dict[str | None, list[TopicPartition]] = {}
        for topic in audience.topics:
            for partition in group.partitions_of(topic):
                rack = group.rack_of(partition)
                zones.setdefault(rack if rack in occupied else None, []).append(partition)
        for rack, partitions in zones.items():
            yield [m for m in audience.members if rack in (None, m.rack)], partitions


def _divide(
    draft: Draft,
    members: Sequence[Member],
    partitions: Sequence[TopicPartition],
    owners: Mapping[TopicPartition, Member],
) -> None:
    """Give everybody the same number, first of what it has.

    `share` is what each member gets at least, and `extra` members get one more. Whoever keeps
    one more uses up an extra, so nobody keeps what it would have to give up in the next round.
    """
    share, extra = divmod(len(partitions), len(members))
    count = {member.member_id: 0 for member in members}
    free: list[TopicPartition] = []
    for partition in partitions:
        owner = owners.get(partition)
        had = count.get(owner.member_id) if owner else None
        if owner is None or had is None or had >= share + (extra > 0):
            free.append(partition)
            continue
        extra -= had == share
        count[owner.member_id] += 1
        draft.give(partition, to=owner)
    for partition in free:
        # Of those with the fewest here, the one with the fewest altogether; then the first.
        to = min(members, key=lambda m: (count[m.member_id], draft.load(m)))
        count[to.member_id] += 1
        draft.give(partition, to=to)
