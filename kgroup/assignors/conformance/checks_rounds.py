"""Does it behave over several rounds: sticky, cooperative, balanced, never holding back forever?

Decides: what members may lose, how many rounds a change may take, what brings the next one, and
the size of a member: what it is given, and what is withheld for it.
Never: looks at how an assignor knows what members hold, be it their claims, their user data, or
what it sent along itself: only at the result. Never judges the balance of a round in which a
partition is withheld for no member: that round is not the last.
KIPs: 54 (stickiness, balance), 429 (follow-up rounds).

The answer alone shows whether a better balanced assignment exists. Draw an arrow from a member to
each other member that subscribes to a topic of its partitions. While arrows lead from a member to
one that has less by two or more, shifting one partition along each of them makes the sum of squares
smaller; when none do, it is the smallest there is (Harvey, Ladner, Lovasz, Tamir: Semi-matchings
for bipartite graphs and load balancing, 2006).
"""

from collections import deque
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Final

from kgroup.assignors.conformance.checks_whole import sound
from kgroup.assignors.conformance.paste import group_as_code, indented
from kgroup.assignors.conformance.promises import Claims
from kgroup.assignors.conformance.rounds import PATIENCE, Gathering, Story, happen
from kgroup.assignors.conformance.subject import Elsewhere, Offence, Subject
from kgroup.assignors.group import GroupSubscription
from kgroup.types import TopicPartition

_DAY: Final = 86_400.0
_QUIET_ROUNDS: Final = 2


def rejoin(subject: Subject, story: Story) -> None:
    """Judge every time that it asks for."""
    gathering = Gathering(subject, story.group)
    for change in (None, story.early, story.change, None):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        played = gathering.play()
        after: object = played.answer.rejoin_after
        if after is not None and not _is_a_time(after):
            raise _offence(f"it asks for the next round after {after!r} s", gathering)


def fed(subject: Subject, story: Story) -> None:
    """Judge whether for all that is withheld a member, or a time, brings the next round."""
    gathering = Gathering(subject, story.group)
    for change in (None, story.early, story.change):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        for _ in range(_QUIET_ROUNDS):
            played = gathering.play_sound()
            if played.answer.withheld and not played.goes_on:
                first = min(played.answer.withheld)
                raise _offence(
                    f"{first} is withheld, but nobody has to hand anything back and rejoin_after "
                    "is None: no round follows, and it starves",
                    gathering,
                )


def released(subject: Subject, story: Story) -> None:
    """Judge whether what is held back is given when enough time has gone by."""
    gathering = Gathering(subject, story.group)
    for change in (story.early, story.change):
        gathering.play_sound()
        happen(gathering, change, equal=story.equal)
    for seconds in (*[None] * PATIENCE, _DAY, 365 * _DAY, None):
        played = gathering.play_sound()
        if not played.answer.withheld:
            return
        if played.revoked:
            continue
        if played.answer.rejoin_after is None:
            raise Elsewhere("no round follows")
        gathering.wait(seconds or played.answer.rejoin_after)
    if not played.revoked:
        first = min(played.answer.withheld)
        raise _offence(f"{first} is still held back more than a year later", gathering)


def settles(claims: Claims, subject: Subject, story: Story) -> None:
    """Judge how many rounds a cooperative group takes after a change."""
    gathering = _at_rest(subject, story, claims)
    happen(gathering, story.change, equal=story.equal)
    if not gathering.settle(claims.rounds):
        raise _offence(
            f"{claims.rounds} rounds after a single change members are still told to hand "
            "something back",
            gathering,
        )


def keeps(subject: Subject, story: Story) -> None:
    """Judge whether an undisturbed group stays as it is."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    for _ in range(_QUIET_ROUNDS):
        gathering.play_sound()
        for who, held in gathering.held().items():
            if lost := before[who] - held:
                raise _offence(f"{who!r} lost {min(lost)}, though nothing happened", gathering)


def survivors(subject: Subject, story: Story) -> None:
    """Judge whether the other members keep what they have when one leaves."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    gone = happen(gathering, story.change, equal=True)
    for _ in range(PATIENCE):
        played = gathering.play_sound()
        for who, held in gathering.held().items():
            if lost := before[who] - held:
                raise _offence(f"{who!r} lost {min(lost)} when {gone!r} left", gathering)
        if not played.revoked:
            return


def newcomer(subject: Subject, story: Story) -> None:
    """Judge whether a newcomer's arrival moves only what it gets itself."""
    gathering = _at_rest(subject, story)
    before = gathering.held()
    new = happen(gathering, story.change, equal=True)
    if not gathering.settle(PATIENCE):
        raise Elsewhere("the group never comes to rest")
    after = gathering.held()
    for who, held in before.items():
        if moved := held - after[who] - after[new]:
            raise _offence(
                f"when {new!r} joined, {who!r} lost {min(moved)}, which {new!r} did not get",
                gathering,
            )


def _is_a_time(after: object) -> bool:
    return isinstance(after, int | float) and isfinite(after) and after > 0


def _at_rest(subject: Subject, story: Story, claims: Claims | None = None) -> Gathering:
    """Return a group with a past in which no member waits for anything."""
    rounds = PATIENCE if claims is None else claims.rounds
    gathering = Gathering(subject, story.group)
    for change in (None, story.early):
        if change is not None:
            happen(gathering, change, equal=story.equal)
        if not gathering.settle(rounds):
            raise Elsewhere("the group never comes to rest")
    return gathering


def _offence(says: str, gathering: Gathering) -> Offence:
    happened = indented("\n".join(gathering.log))
    asked = group_as_code(gathering.asked)
    return Offence(says, f"what happened:\n{happened}\nthe group of the last round:\n\n{asked}")


_Target = Mapping[str, set[TopicPartition]]
"""Member id -> what it shall have in the end."""


def balance(claims: Claims, subject: Subject, group: GroupSubscription) -> None:
    """Judge the sizes in a group of equal subscriptions."""
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
