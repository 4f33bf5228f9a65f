"""The best assignment there is, found by a solver that knows nothing of ours.

Every partition is a node of its own in a flow of least cost (network simplex of networkx), and
every place of a member costs as much as it adds to the sum of squares.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import networkx as nx

from kgroup.assignors import GroupSubscription, Member
from kgroup.assignors.claims import MemberClaim, stated_claim
from kgroup.types import TopicPartition


class Cost(NamedTuple):
    """What an assignment is judged by; smaller is better, the first figure first."""

    squares: int
    moves: int
    far: int


def owners(
    group: GroupSubscription, claim: Callable[[Member], MemberClaim] = stated_claim
) -> dict[TopicPartition, str]:
    """Partition -> the only member that claims it in the newest generation and still subscribes.

    Decided here once more, not by the product: only the reading of claims is shared.
    """
    claims: dict[TopicPartition, dict[int, set[str]]] = {}
    for each in group.members:
        stated = claim(each)
        for tp in stated.partitions:
            said = -1 if stated.generation_id is None else stated.generation_id
            claims.setdefault(tp, {}).setdefault(said, set()).add(each.member_id)
    topics = {each.member_id: each.topics for each in group.members}
    found = {}
    for tp, by_generation in claims.items():
        newest = by_generation[max(by_generation)]
        exists = tp.partition in group.topics.get(tp.topic, {})
        if exists and len(newest) == 1 and tp.topic in topics[min(newest)]:
            found[tp] = min(newest)
    return found


def racks_count(group: GroupSubscription) -> bool:
    """Whether some assignments are nearer than others, as Kafka decides it (KIP-881)."""
    replicas = [
        group.topics[topic][number].replicas
        for topic in group.topics
        for number in group.topics[topic]
    ]
    everywhere = frozenset[str]().union(*replicas)
    known = {each.rack for each in group.members}
    return not everywhere.isdisjoint(known) and any(racks != everywhere for racks in replicas)


def is_far(group: GroupSubscription, member: Member, tp: TopicPartition) -> bool:
    """Whether the member is not in a rack with a replica; without racks nothing is far."""
    return racks_count(group) and member.rack not in group.topics[tp.topic][tp.partition].replicas


def cost_of(group: GroupSubscription, ends: Mapping[str, set[TopicPartition]]) -> Cost:
    """Judge an assignment: member id -> what it has in the end."""
    members = {each.member_id: each for each in group.members}
    return Cost(
        sum(len(given) ** 2 for given in ends.values()),
        sum(tp not in ends[owner] for tp, owner in owners(group).items()),
        sum(is_far(group, members[who], tp) for who, given in ends.items() for tp in given),
    )


def least_cost(group: GroupSubscription, order: str = "balance, moves, racks") -> Cost:
    """Return the cost of the best assignment.

    Args:
        group: unequal or not.
        order: what comes before what; "balance, racks, moves" is the other one.
    """
    partitions = [TopicPartition(t, n) for t, numbers in group.topics.items() for n in numbers]
    one = len(partitions) + 1
    move, far = (one, 1) if order == "balance, moves, racks" else (1, one)
    graph = nx.DiGraph()
    graph.add_node("end", demand=len(partitions))
    owner = owners(group)
    for tp in partitions:
        graph.add_node(tp, demand=-1)
        for each in group.members:
            if tp.topic in each.topics:
                moved = owner.get(tp) not in (None, each.member_id)
                weight = move * moved + far * is_far(group, each, tp)
                graph.add_edge(tp, each.member_id, capacity=1, weight=weight)
    for each in group.members:
        for place in range(len(partitions)):
            square = one * one * (2 * place + 1)
            graph.add_edge(each.member_id, (each.member_id, place), capacity=1, weight=square)
            graph.add_edge((each.member_id, place), "end", capacity=1)
    least, _ = nx.network_simplex(graph)
    squares, rest = divmod(least, one * one)
    first, second = divmod(rest, one)
    return Cost(squares, first, second) if move > far else Cost(squares, second, first)
