"""The groups that are measured, as data.

Decides: topics, members and subscriptions, drawn with one seed, and which member leaves.
Never: knows any client.
"""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

SEED: Final = 20_250_103
GENERATION: Final = 7
"""The generation in which members were given what they own."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One group.

    Args:
        name: for people, and for `--only`.
        topics: (name, number of partitions), sorted by name.
        subscriptions: the different ones, as places in `topics`.
        members: (member id, place in `subscriptions`), in the order of the coordinator's list.
        leaver: place of the member that leaves.
    """

    name: str
    topics: tuple[tuple[str, int], ...]
    subscriptions: tuple[tuple[int, ...], ...]
    members: tuple[tuple[str, int], ...]
    leaver: int

    @property
    def is_equal(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return len(self.subscriptions) == 1

    @property
    def partitions(self) -> int:
        """How many partitions there are to give."""
        return sum(count for _, count in self.topics)

    @property
    def work(self) -> int:
        """Partitions times members: by this one scenario is larger than another."""
        return self.partitions * len(self.members)

    @property
    def starts(self) -> list[int]:
        """Per topic, the number of its first partition among all; at the end, how many."""
        return list(accumulate((count for _, count in self.topics), initial=0))

    def topics_of(self, member: int) -> tuple[int, ...]:
        """Return the places of the topics that a member subscribes to."""
        return self.subscriptions[self.members[member][1]]

    def named(self, numbers: Sequence[int]) -> Iterator[tuple[str, int]]:
        """Yield (topic, partition) for numbers among all partitions, in their order."""
        starts = self.starts
        for number in numbers:
            topic = bisect_right(starts, number) - 1
            yield self.topics[topic][0], number - starts[topic]

    def document(self) -> dict[str, Any]:
        """Return what a worker is told."""
        return {
            "topics": self.topics,
            "subscriptions": self.subscriptions,
            "members": self.members,
            "generation": GENERATION,
        }


def make(name: str, topics: int, partitions: int, subscriptions: list[tuple[int, ...]]) -> Scenario:
    """Make a group of topics of one size.

    Args:
        name: of the scenario.
        topics: how many.
        partitions: of each topic.
        subscriptions: of each member, as places of topics.
    """
    chance = random.Random(SEED)
    kinds = sorted(set(subscriptions))
    place = {kind: number for number, kind in enumerate(kinds)}
    members = [
        (f"consumer-{number:04}-{chance.getrandbits(128):032x}", place[kind])
        for number, kind in enumerate(subscriptions)
    ]
    chance.shuffle(members)  # a coordinator lists its members in no order
    sizes = [len(kinds[kind]) for _, kind in members]
    return Scenario(
        name=name,
        topics=tuple((f"topic-{number:04}", partitions) for number in range(topics)),
        subscriptions=tuple(kinds),
        members=tuple(members),
        leaver=sizes.index(max(sizes)),
    )


def equal(topics: int, partitions: int, members: int) -> Scenario:
    """Everybody subscribes to everything."""
    name = f"{topics:,} x {partitions:,} x {members:,}"
    return make(name, topics, partitions, [tuple(range(topics))] * members)


def buckets() -> Scenario:
    """Two halves of the topics that share no member, one member to three.

    The shape of Java's testAssignmentAndGroupWithNonEqualSubscriptionNotTimeout (KAFKA-15106).
    """
    halves = tuple(range(50)), tuple(range(50, 100))
    subscriptions = [halves[number % 4 != 0] for number in range(500)]
    return make("1:3 buckets 20,000 x 500", 100, 200, subscriptions)


def near_equal() -> Scenario:
    """All members but one subscribe to everything; that one has a single topic."""
    subscriptions = [tuple(range(500))] * 1_999 + [(0,)]
    return make("near-equal 1,000,000 x 2,000", 500, 2_000, subscriptions)


def sparse() -> Scenario:
    """One to three topics each, every topic with at least one subscriber."""
    chance, topics = random.Random(SEED), 250
    subscriptions = []
    for number in range(500):
        chosen = {number % topics, *chance.sample(range(topics), chance.randrange(3))}
        subscriptions.append(tuple(sorted(chosen)))
    return make("sparse 5,000 x 500", topics, 20, subscriptions)


SCENARIOS: Final = {
    "1x1000x100": lambda: equal(1, 1_000, 100),
    "10x1000x100": lambda: equal(10, 1_000, 100),
    "sparse": sparse,
    "100x100x1000": lambda: equal(100, 100, 1_000),
    "buckets": buckets,
    "1000x100x1000": lambda: equal(1_000, 100, 1_000),
    "500x2000x2000": lambda: equal(500, 2_000, 2_000),
    "near-equal": near_equal,
}
"""Word for `--only` -> what makes the group; smaller ones come first."""

QUICK: Final = ("1x1000x100", "10x1000x100", "sparse")


def subscriber_counts(scenario: Scenario) -> Counter[int]:
    """Count the subscribers of each topic, by its place."""
    counts: Counter[int] = Counter()
    for member in range(len(scenario.members)):
        counts.update(scenario.topics_of(member))
    return counts
