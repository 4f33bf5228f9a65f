"""Is it balanced as claimed?

Decides: the size of a member: what it is given, and what is withheld for it.
Never: judges a round in which something is held back for nobody: it is not finished.
KIPs: 54.

That no assignment is better balanced can be told from the answer alone. Take an arrow from a
member to another one that subscribes to the topic of something it has; as long as arrows lead
from a member to one that has less by two or more, shifting one partition along each of them makes
the sum of squares smaller, and when none do it is the smallest there is (Harvey, Ladner, Lovasz,
Tamir: Semi-matchings for bipartite graphs and load balancing, 2006).
"""

from collections import deque
from collections.abc import Iterator, Mapping

from kgroup.assignors.conformance.checks_whole import sound
from kgroup.assignors.conformance.claimed import Claims
from kgroup.assignors.conformance.offence import Elsewhere, Offence
from kgroup.assignors.conformance.subject import Subject
from kgroup.assignors.group import GroupSubscription
from kgroup.types import TopicPartition

__all__ = ["balance", "optimal"]

_Target = Mapping[str, set[TopicPartition]]
"""Member id -> what it shall have in the end."""


def balance(claims: Claims, subject: Subject, group: GroupSubscription) -> None:
    """Judge the sizes in a group in which everybody subscribes to the same."""
    target = _target(subject, group)
    sizes = {who: len(given) for who, given in target.items()}
    most, least = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    if claims.balance is not None and sizes[most] - sizes[least] > claims.balance:
        raise Offence(
            f"{most!r} is to have {sizes[most]} partitions and {least!r} {sizes[least]}, though a "
            f"difference of no more than {claims.balance} is claimed"
        )


def optimal(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether shifting partitions along could make sizes more even."""
    target = _target(subject, group)
    for who in sorted(target, key=lambda each: -len(target[each])):
        path = _path_down(target, group, who)
        if path:
            shifts = ", ".join(f"{tp} from {a!r} to {b!r}" for a, tp, b in path)
            last = path[-1][2]
            raise Offence(
                f"{who!r} is to have {len(target[who])} partitions and {last!r} "
                f"{len(target[last])}, though {shifts} could go"
            )


def _target(subject: Subject, group: GroupSubscription) -> dict[str, set[TopicPartition]]:
    answer = sound(subject, group, subject.ask(group))
    if not group.members or None in answer.withheld.values():
        raise Elsewhere("something is held back for nobody")
    target = {member.member_id: set(answer.of(member.member_id)) for member in group.members}
    for tp, who in answer.withheld.items():
        if who is not None:
            target[who].add(tp)
    return target


def _path_down(
    target: _Target, group: GroupSubscription, start: str
) -> list[tuple[str, TopicPartition, str]]:
    """Return (from, partition, to) shifts that end at a member with less by two; empty for none."""
    came: dict[str, tuple[str, TopicPartition, str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        who = waiting.popleft()
        if len(target[who]) <= len(target[start]) - 2:
            return _back(came, who)
        for tp, other in _could_go(target, group, who):
            if other not in came:
                came[other] = (who, tp, other)
                waiting.append(other)
    return []


def _could_go(
    target: _Target, group: GroupSubscription, who: str
) -> Iterator[tuple[TopicPartition, str]]:
    """Yield what a member has, with everybody else that may have it."""
    for tp in sorted(target[who]):
        yield from ((tp, member.member_id) for member in group.subscribers(tp.topic))


def _back(
    came: Mapping[str, tuple[str, TopicPartition, str] | None], end: str
) -> list[tuple[str, TopicPartition, str]]:
    path: list[tuple[str, TopicPartition, str]] = []
    step = came[end]
    while step is not None:
        path.append(step)
        step = came[step[0]]
    return path[::-1]
