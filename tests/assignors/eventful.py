"""Small groups with unequal subscriptions after an event, drawn from a seed.

What members claim is what an assignment gave them, not always a good one, and some of it is
false: stale, claimed twice, of topics that they have left, of partitions that never were.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from kgroup.assignors import BUILT_IN, GroupSubscription, Member, PartitionRacks
from kgroup.types import TopicPartition
from tests.assignors.groups import claiming, target

GENERATION = 7

Topics = dict[str, dict[int, PartitionRacks]]
Event = Callable[[Random, list[Member], Topics], list[Member]]


def settled(group: GroupSubscription, ends) -> GroupSubscription:
    """The group when everybody has what it gets in the end."""
    members = (claiming(each, sorted(ends[each.member_id]), GENERATION) for each in group.members)
    return GroupSubscription(tuple(members), group.topics)


def is_unequal(group: GroupSubscription) -> bool:
    active = [each for each in group.members if not each.topics.isdisjoint(group.topics)]
    return any(len(each.members) != len(active) for each in group.audiences)


class Drawn:
    """A seed's group.

    Args:
        seed: of everything.
        racks: whether members and replicas have racks.
        most: members, topics, and partitions of a topic.
    """

    def __init__(self, seed: int, *, racks: bool, most: tuple[int, int, int] = (8, 6, 6)) -> None:
        self.random = Random(seed)
        self.racks = "abcd"[: self.random.randint(2, 4)] if racks else ""
        self.most_members, most_topics, self.most_partitions = most
        count = self.random.randint(2, most_topics)
        self.topics: Topics = {f"t{number:02}": {} for number in range(count)}
        for partitions in self.topics.values():
            self.add_partitions(partitions, self.random.randint(1, self.most_partitions))
        numbers = range(self.random.randint(2, self.most_members))
        self.members = [self.member(f"m{number:02}") for number in numbers]

    def add_partitions(self, partitions: dict[int, PartitionRacks], count: int) -> None:
        for number in range(len(partitions), len(partitions) + count):
            copies = self.random.choice((0, 1, 1, 2, 2)) if self.racks else 0
            replicas = self.random.sample(self.racks, copies)
            partitions[number] = PartitionRacks(None, frozenset(replicas))

    def member(self, member_id: str) -> Member:
        rack = self.random.choice((*self.racks, None)) if self.racks else None
        return Member(member_id=member_id, topics=self.subscription(), rack=rack)

    def subscription(self) -> frozenset[str]:
        names = sorted(self.topics)
        most = self.random.choice((1, 3, len(names)))
        return frozenset(self.random.sample(names, min(len(names), self.random.randint(1, most))))

    def assigned(self) -> None:
        """Let the members claim what an assignment gave them, good or bad."""
        group = GroupSubscription(tuple(self.members), self.topics)
        if self.random.random() < 0.6:
            ends = target(BUILT_IN["cooperative-sticky"].assign(group))
        else:
            ends = {each.member_id: set() for each in self.members}
            for tp in group.partitions:
                ends[self.random.choice(group.subscribers(tp.topic)).member_id].add(tp)
        self.members = list(settled(group, ends).members)

    def lied(self) -> None:
        """Let some members claim what is not theirs, or not theirs any more."""
        anything = [
            *(TopicPartition(topic, number) for topic in self.topics for number in range(-1, 8)),
            TopicPartition("gone", 0),
        ]
        for place, each in enumerate(self.members):
            if self.random.random() < 0.3:
                more = self.random.sample(anything, self.random.randint(1, 4))
                said = self.random.choice((1, GENERATION - 1, GENERATION))
                owned = dict.fromkeys([*each.owned, *more])
                self.members[place] = claiming(each, owned, said)

    def group(self) -> GroupSubscription:
        return GroupSubscription(tuple(self.members), self.topics)


def fresh(drawn: Drawn) -> None:
    """No member has anything, or what was said before is false."""


def leave(drawn: Drawn) -> None:
    drawn.assigned()
    drawn.members = drawn.random.sample(
        drawn.members, drawn.random.randint(1, len(drawn.members) - 1)
    )


def join(drawn: Drawn) -> None:
    drawn.assigned()
    for number in range(drawn.random.randint(1, 3)):
        drawn.members.append(drawn.member(f"n{number}"))


def grow(drawn: Drawn) -> None:
    drawn.assigned()
    for partitions in drawn.topics.values():
        if drawn.random.random() < 0.5:
            drawn.add_partitions(partitions, drawn.random.randint(1, drawn.most_partitions))


def resubscribe(drawn: Drawn) -> None:
    drawn.assigned()
    for place, each in enumerate(drawn.members):
        if drawn.random.random() < 0.4:
            drawn.members[place] = replace(each, topics=drawn.subscription())


EVENTS = (fresh, leave, join, grow, resubscribe)


def groups_after(event, count: int, *, racks: bool, first: int = 0, most=(8, 6, 6)):
    """Yield (seed, group) for so many groups with unequal subscriptions after an event."""
    seed = first
    while count:
        drawn = Drawn(seed, racks=racks, most=most)
        event(drawn)
        if drawn.random.random() < 0.5:
            drawn.lied()
        if is_unequal(drawn.group()):
            yield seed, drawn.group()
            count -= 1
        seed += 1
