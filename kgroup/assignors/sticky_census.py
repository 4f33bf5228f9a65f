"""What is interchangeable in a group: kinds of members, classes of partitions.

Decides: which members and which partitions count as alike in the search for the best
assignment: members that subscribe to the same topics, and partitions of topics with the same
subscribers whose replicas are in the same of the members' racks. Partitions of a class differ by
their owners only. So the search grows with the variety of subscriptions, not with the group.
Never: depends on an order other than that of the walk and of the group's partitions.
KIPs: 54, 881.
"""

from collections import Counter
from collections.abc import Sequence

from kgroup.assignors.claims import SettledClaims
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.values import dataclass

NO_RACK = 0  # of a member without one; no replica is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """A group in numbers. Members are numbered in the order of the walk.

    Args:
        racks: whether racks matter; else everybody is in one rack, and there is one class per
            audience.
        kinds: per audience, the kinds of members that it consists of.
        audiences: per kind, the audiences that it belongs to.
        members: per kind, its members.
        rack_of: per member, its rack.
        audience_of: per class, the audience whose topics its partitions are of.
        near: per class, the racks that hold a replica of its partitions.
        totals: per class, how many partitions there are.
        class_of: per partition, by its index, its class.
    """

    racks: bool
    kinds: Sequence[Sequence[int]]
    audiences: Sequence[Sequence[int]]
    members: Sequence[Sequence[int]]
    rack_of: Sequence[int]
    audience_of: Sequence[int]
    near: Sequence[frozenset[int]]
    totals: Sequence[int]
    class_of: Sequence[int]

    def count(self, indices: Sequence[int]) -> dict[int, int]:
        """Return class -> how many of these partitions are of it."""
        return Counter(map(self.class_of.__getitem__, indices))

    def owned(
        self, settled: SettledClaims, walk: Sequence[Member]
    ) -> tuple[list[list[int]], list[dict[int, int]]]:
        """Return, per member, what it holds of its topics, and how much of it of each class."""
        owned = [settled.held.get(member.member_id, []) for member in walk]
        counts = [self.count(indices) for indices in owned]
        for kind, members in enumerate(self.members):
            mine = set(self.audiences[kind])
            for member in members:
                foreign = {c for c in counts[member] if self.audience_of[c] not in mine}
                if foreign:
                    owned[member] = [i for i in owned[member] if self.class_of[i] not in foreign]
                    counts[member] = self.count(owned[member])
        return owned, counts


def take_census(group: GroupSubscription, walk: Sequence[Member], *, racks: bool) -> Census:
    """Count a group.

    Args:
        group: its partitions, their racks, and their subscribers.
        walk: the members that subscribe to something, in the order that decides ties.
        racks: whether racks matter; else they are left out.
    """
    joined: dict[str, list[int]] = {member.member_id: [] for member in walk}
    for number, audience in enumerate(group.audiences):
        for member in audience.members:
            joined[member.member_id].append(number)
    kinds: dict[tuple[int, ...], list[int]] = {}
    for place, belongs in enumerate(joined.values()):
        kinds.setdefault(tuple(belongs), []).append(place)
    parts: list[list[int]] = [[] for _ in group.audiences]
    for kind, together in enumerate(kinds):
        for number in together:
            parts[number].append(kind)
    known = sorted({member.rack for member in walk if member.rack is not None}) if racks else []
    numbered = {rack: number for number, rack in enumerate(known, NO_RACK + 1)}
    keys, class_of = _classes(group, numbered)
    totals = Counter(class_of)
    return Census(
        racks=bool(numbered),
        kinds=parts,
        audiences=list(kinds),
        members=list(kinds.values()),
        rack_of=[numbered.get(member.rack or "", NO_RACK) for member in walk],
        audience_of=[audience for audience, _ in keys],
        near=[near for _, near in keys],
        totals=[totals[number] for number in range(len(keys))],
        class_of=class_of,
    )


def _classes(
    group: GroupSubscription, numbered: dict[str, int]
) -> tuple[list[tuple[int, frozenset[int]]], list[int]]:
    """Return the classes, as (audience, near racks), and the class of every partition."""
    audience_of = {
        topic: number for number, each in enumerate(group.audiences) for topic in each.topics
    }
    anywhere = frozenset({NO_RACK})
    keys: dict[tuple[int, frozenset[int]], int] = {}
    class_of: list[int] = []
    replicas = group.replica_racks() if numbered else []
    for topic in group.partitions.topics:
        audience, span = audience_of[topic], group.partitions.span(topic)
        if not numbered:
            number = keys.setdefault((audience, anywhere), len(keys))
            class_of.extend([number] * len(span))
            continue
        its_replicas = replicas[span.start : span.stop]
        classes: dict[frozenset[str], int] = {}
        for racks in dict.fromkeys(its_replicas):
            near = frozenset(numbered[rack] for rack in racks if rack in numbered)
            classes[racks] = keys.setdefault((audience, near), len(keys))
        class_of.extend(map(classes.__getitem__, its_replicas))
    return list(keys), class_of
