"""Is it a function of the group, and of nothing else?

Decides: what counts as the same question, and what as the same answer.
Never: takes two answers for different because they are written down differently: a member that
is left out of `partitions` has the same as one with an empty entry.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeVar

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.conformance.paste import group_as_code, two_answers
from kgroup.assignors.conformance.subject import (
    Elsewhere,
    Misshapen,
    Offence,
    Raised,
    Subject,
    essence,
)
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.errors import AssignmentError
from kgroup.values import dataclass

T = TypeVar("T")


class _Turn(Protocol):
    """Puts items into another order."""

    def __call__(self, items: Sequence[T], /) -> Sequence[T]:
        """Return the same items, ordered differently."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """Two groups that have nothing to do with each other.

    Args:
        group: the one in question.
        other: what the assignor is asked about in between.
    """

    group: GroupSubscription
    other: GroupSubscription


def repeatable(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether two new assignors answer alike."""
    first, second = subject.ask(remade(group)), subject.ask(remade(group))
    if essence(first) != essence(second):
        raise Offence(
            "asked twice for the same group, it answered differently: it draws chance, reads a "
            "clock, or keeps something on its class or module",
            f"{group_as_code(group)}\n"
            + two_answers(first, second, "the first time", "the second time"),
        )


def memoryless(subject: Subject, pair: Pair) -> None:
    """Judge whether an assignor that was asked before answers like a new one."""
    expected = _certain(subject, pair.group)
    used = subject.make()
    with suppress(Raised, Misshapen):  # what came before may have gone wrong, too
        subject.ask(remade(pair.other), used)
    after_other = subject.ask(remade(pair.group), used)
    again = subject.ask(remade(pair.group), used)
    for answer, when in ((after_other, "asked about another group before"), (again, "asked again")):
        if essence(answer) != essence(expected):
            raise Offence(
                f"{when}, it answered differently: it keeps something from one call to the next",
                f"{group_as_code(pair.group)}\n"
                f"{group_as_code(pair.other, 'another', imports=False)}\n"
                + two_answers(expected, answer, "a new one", when),
            )


def orderless(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether the order in which a group is described matters."""
    expected = _certain(subject, group)
    for turn, how in ((_backwards, "backwards"), (_shifted, "with the first one last")):
        turned = _reordered(group, turn)
        answer = subject.ask(turned)
        if essence(answer).sets != essence(expected).sets:
            raise Offence(
                f"described {how} - members, topics, partitions, claims - it gets another answer",
                f"{group_as_code(group)}\n{group_as_code(turned, 'turned', imports=False)}\n"
                + two_answers(expected, answer, "group", "turned"),
            )


def untouched(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether the group is afterwards what it was before."""
    asked, kept = remade(group, loose=True), remade(group, loose=True)
    trouble: Elsewhere | None = None
    try:
        subject.ask(asked)
    except Elsewhere as error:
        trouble = error
    if asked != kept or _derived(asked) != _derived(kept):
        raise Offence(
            "it changed the group that it was given",
            f"{group_as_code(kept)}\nafterwards:\n\n{group_as_code(asked, imports=False)}",
        )
    if trouble is not None:
        raise trouble


def twins(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether a description with a repeated member id is refused before an assignor is asked.

    Assignors keep members by id; two members with one id would both be given something, or one
    would be lost. So the group refuses; this shows that it does.
    """
    if not group.members:
        raise Elsewhere("nobody is there to be listed twice")
    first = group.members[0]
    twice = (*group.members, replace(first, owned=(), user_data=None))
    try:
        doubled = GroupSubscription(twice, group.topics, group.now)
    except AssignmentError:
        return
    subject.ask(doubled)
    raise Offence(f"{first.member_id!r} is in the group twice, and it was asked all the same")


def user_data(subject: Subject, group: GroupSubscription) -> None:
    """Judge the bytes that members make of what they hold: stable, and readable by a leader."""
    members: list[Member] = []
    used = subject.make()
    for member in group.members:
        last = LastAssignment(member.owned, user_data=member.user_data)
        try:
            made = [
                subject.encode(last, member.generation_id),
                subject.encode(last, member.generation_id, used),
                subject.encode(last, member.generation_id, used),
            ]
        except (Raised, Misshapen) as error:
            raise Offence(str(error)) from error
        if len(set(made)) > 1:
            raise Offence(
                f"for the same state of {member.member_id!r} it made {made[0]!r} and then "
                f"{next(each for each in made if each != made[0])!r}; a coordinator takes other "
                "bytes for a change and begins a round"
            )
        members.append(replace(member, user_data=made[0]))
    try:
        subject.ask(GroupSubscription(tuple(members), group.topics, group.now))
    except Raised as error:
        silent = tuple(replace(member, user_data=None) for member in members)
        subject.ask(GroupSubscription(silent, group.topics, group.now))
        raise Offence(f"it cannot read what its own members send: {error}") from error


def remade(group: GroupSubscription, *, loose: bool = False) -> GroupSubscription:
    """Return an equal group that shares nothing that could be changed.

    Args:
        group: what to copy.
        loose: whether claims are lists, which an assignor might sort or clear.
    """
    topics = {topic: dict(racks) for topic, racks in group.topics.items()}
    members = group.members
    if loose:
        members = tuple(replace(member, owned=list(member.owned)) for member in members)
    return GroupSubscription(members, topics, group.now)


def _reordered(group: GroupSubscription, turned: _Turn) -> GroupSubscription:
    members = (replace(m, owned=tuple(turned(m.owned))) for m in turned(group.members))
    topics = {
        topic: {number: racks[number] for number in turned(tuple(racks))}
        for topic, racks in ((name, group.topics[name]) for name in turned(tuple(group.topics)))
    }
    return GroupSubscription(tuple(members), topics, group.now)


def _backwards(items: Sequence[T]) -> Sequence[T]:
    return items[::-1]


def _shifted(items: Sequence[T]) -> Sequence[T]:
    return [*items[1:], *items[:1]]


def _derived(group: GroupSubscription) -> tuple[object, ...]:
    """Return what a group works out for itself when it is made."""
    return (
        tuple(group.partitions),
        tuple((topic, tuple(group.subscribers(topic))) for topic in group.topics),
    )


def _certain(subject: Subject, group: GroupSubscription) -> GroupAssignment:
    """Return an answer that a new assignor gives every time."""
    answer = subject.ask(remade(group))
    if essence(answer) != essence(subject.ask(remade(group))):
        raise Elsewhere("it does not answer the same twice")
    return answer
