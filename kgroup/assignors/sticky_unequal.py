"""The sticky target when members subscribe to different topics: best balance, fewest moves.

Decides: counts first (`sticky_balance`, `sticky_moves`), then which partitions they are: owners
keep theirs, and what changes hands goes near its replicas where that costs nothing else.
Never: gives up balance or a kept partition for a rack.
KIPs: 54, 881.
"""

from collections.abc import Sequence

from kgroup.assignors.claims import Holdings
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.assignors.racks import group_racks_matter, mismatches
from kgroup.assignors.sticky_balance import balance
from kgroup.assignors.sticky_flow import Flow
from kgroup.assignors.sticky_moves import save_moves
from kgroup.types import TopicPartition

__all__ = ["plan_unequal"]


def plan_unequal(
    group: GroupSubscription, holdings: Holdings, walk: Sequence[Member]
) -> dict[str, list[int]]:
    """Return member id -> indices of its partitions, in order.

    Args:
        group: partitions, subscribers and racks.
        holdings: who holds what now.
        walk: the members that subscribe to something, in the order that decides ties.
    """
    place = {member.member_id: index for index, member in enumerate(walk)}
    owned = _owned_by_topic(group, holdings, place)
    flow = Flow(
        subscribers=[
            sorted(place[m.member_id] for m in group.subscribers(topic)) for topic in group.topics
        ],
        totals=[len(numbers) for numbers in group.topics.values()],
        own=[{m: len(tps) for m, tps in by_member.items()} for by_member in owned],
        members=len(walk),
    )
    flow.fill()
    balance(flow)
    save_moves(flow)
    racks = group_racks_matter(group)
    given: list[list[TopicPartition]] = [[] for _ in walk]
    for index, topic in enumerate(group.topics):
        dealing = _Dealing(group, walk, flow.held[index], racks=racks)
        for member, tps in dealing.deal(group.partitions_of(topic), owned[index]).items():
            given[member].extend(tps)
    indices_of = group.partitions.indices_of
    return {m.member_id: sorted(indices_of(given[index])) for index, m in enumerate(walk)}


def _owned_by_topic(
    group: GroupSubscription, holdings: Holdings, place: dict[str, int]
) -> list[dict[int, list[TopicPartition]]]:
    """Return, per topic, member -> what it owns and still subscribes to, by partition number."""
    able = {
        topic: {member.member_id for member in group.subscribers(topic)} for topic in group.topics
    }
    rows: list[dict[int, list[TopicPartition]]] = []
    owners = {group.partitions[at]: who for who, held in holdings.held.items() for at in held}
    for topic in group.topics:
        row: dict[int, list[TopicPartition]] = {}
        for tp in group.partitions_of(topic):
            owner = owners.get(tp)
            if owner in able[topic]:
                row.setdefault(place[owner], []).append(tp)
        rows.append(dict(sorted(row.items())))
    return rows


class _Dealing:
    """One topic: from counts per member to partitions."""

    def __init__(
        self,
        group: GroupSubscription,
        walk: Sequence[Member],
        counts: dict[int, int],
        *,
        racks: bool,
    ) -> None:
        self._group = group
        self._walk = walk
        self._counts = dict(sorted(counts.items()))
        self._racks = racks
        self._given: dict[int, list[TopicPartition]] = {member: [] for member in self._counts}

    def deal(
        self, partitions: Sequence[TopicPartition], owned: dict[int, list[TopicPartition]]
    ) -> dict[int, list[TopicPartition]]:
        """Return member -> partitions, as many as its count."""
        for member, count in self._counts.items():
            mine = owned.get(member, [])
            if self._racks:  # what is far from its owner leaves first
                mine = sorted(mine, key=lambda tp: mismatches(self._group, self._walk[member], tp))
            self._given[member] = mine[:count]
        kept = {tp for tps in self._given.values() for tp in tps}
        free = [tp for tp in partitions if tp not in kept]
        if self._racks:
            free = self._deal_near(free)
        rest = iter(free)
        for member in self._counts:
            self._given[member].extend(next(rest) for _ in range(self._wanting(member)))
        return self._given

    def _wanting(self, member: int) -> int:
        return self._counts[member] - len(self._given[member])

    def _deal_near(self, free: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Give what is near to somebody who wants more; return what is left."""
        wanting: dict[str, list[int]] = {}
        for member in self._counts:
            rack = self._walk[member].rack
            if rack is not None and self._wanting(member):
                wanting.setdefault(rack, []).append(member)
        near = {
            tp: [rack for rack in sorted(self._group.racks_of(tp)) if rack in wanting]
            for tp in free
        }
        rest: list[TopicPartition] = []
        for tp in sorted(free, key=lambda tp: (len(near[tp]), tp.partition)):
            rack = next((rack for rack in near[tp] if wanting[rack]), None)
            if rack is None:
                rest.append(tp)
                continue
            member = wanting[rack][-1]
            self._given[member].append(tp)
            if not self._wanting(member):
                wanting[rack].pop()
        return rest
