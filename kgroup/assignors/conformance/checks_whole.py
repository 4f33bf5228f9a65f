"""Is one answer whole? Every partition once, to a member that may have it, and nothing else.

Decides: for each kind of mistake whether an answer has it, and the sentence that says so.
Never: judges more than one kind at a time: a mistake is reported by one promise only.
KIPs: 429 (no member is given a withheld partition in this round).
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from kgroup.assignors.assignment import GroupAssignment
from kgroup.assignors.conformance.subject import Elsewhere, Misshapen, Offence, Raised, Subject
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.verify import verify
from kgroup.errors import AssignorError
from kgroup.types import RebalanceProtocol, TopicPartition


def answers(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether it answers at all."""
    try:
        subject.ask(group)
    except Raised as error:
        raise Offence(str(error)) from error


def hostile(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether what members say of themselves can make it raise."""
    try:
        subject.ask(group)
    except Raised as error:
        subject.ask(_silent(group))  # if it raises for these too, claims are not the reason
        raise Offence(f"{error}, and does not when members claim nothing") from error


def sendable(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether the answer is made of what can be sent."""
    try:
        subject.ask(group)
    except Misshapen as error:
        raise Offence(str(error)) from error


def entries(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether every member has an entry, be it an empty one."""
    answer = subject.ask(group)
    left_out = [m.member_id for m in group.members if m.member_id not in answer.partitions]
    if left_out:
        raise Offence(f"it has no entry for {_some(map(repr, left_out))}")


def complete(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether every partition is given or withheld."""
    answer = subject.ask(group)
    mentioned = {tp for given in answer.partitions.values() for tp in given}
    missing = [tp for tp in group.partitions if tp not in mentioned and tp not in answer.withheld]
    if missing:
        raise Offence(f"{_some(map(str, missing))} is neither given nor listed as withheld")


def disjoint(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether each partition is given once, and what is withheld is not given."""
    answer = subject.ask(group)
    times = Counter(tp for given in answer.partitions.values() for tp in given)
    times.update(answer.withheld.keys())
    twice = [tp for tp, count in times.items() if count > 1]
    if twice:
        holders = [
            repr(member_id) for member_id, given in answer.partitions.items() if twice[0] in given
        ]
        also = ", and is listed as withheld" if twice[0] in answer.withheld else ""
        raise Offence(f"{twice[0]} is given {times[twice[0]]} times, to {_some(holders)}{also}")


def subscribers(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether members get only what they subscribe to."""
    answer = subject.ask(group)
    topics = {member.member_id: member.topics for member in group.members}
    for member_id, tp in _meant(answer):
        if group.has(tp) and member_id in topics and tp.topic not in topics[member_id]:
            raise Offence(f"{tp} is meant for {member_id!r}, which does not subscribe to its topic")


def known(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether it names only members and partitions of the group."""
    answer = subject.ask(group)
    members = {member.member_id for member in group.members}
    named = {*answer.partitions, *answer.user_data, *(who for who, _ in _meant(answer))}
    strangers = sorted(map(repr, named - members))
    if strangers:
        raise Offence(f"it names {_some(strangers)}, who is not a member")
    partitions = {tp for _, tp in _meant(answer)} | answer.withheld.keys()
    invented = sorted(str(tp) for tp in partitions if not group.has(tp))
    if invented:
        raise Offence(f"it names {_some(invented)}, which is not a partition of a subscribed topic")


def handover(subject: Subject, group: GroupSubscription) -> None:
    """Judge whether a partition waits until the member that holds it has revoked it."""
    answer = sound(subject, group, subject.ask(group))
    try:
        verify(group, answer, assignor=subject.name, protocol=RebalanceProtocol.COOPERATIVE)
    except AssignorError as error:
        raise Offence(f"it {'; '.join(error.offences)}") from error


def sound(
    subject: Subject,
    group: GroupSubscription,
    answer: GroupAssignment,
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER,
) -> GroupAssignment:
    """Return an answer that a leader would send.

    Raises:
        Elsewhere: a leader would not, for which another promise answers.
    """
    try:
        verify(group, answer, assignor=subject.name, protocol=protocol)
    except AssignorError as error:
        raise Elsewhere(str(error)) from error
    return answer


def _meant(answer: GroupAssignment) -> Iterator[tuple[str, TopicPartition]]:
    """Yield (member id, partition) of all that is given and of all that waits for a member."""
    for member_id, given in answer.partitions.items():
        yield from ((member_id, tp) for tp in given)
    yield from ((who, tp) for tp, who in answer.withheld.items() if who is not None)


def _silent(group: GroupSubscription) -> GroupSubscription:
    """Return the group with members that claim nothing."""
    members = (
        replace(member, owned=(), generation_id=None, user_data=None) for member in group.members
    )
    return GroupSubscription(tuple(members), group.topics, group.now)


def _some(names: Iterator[str] | Collection[str], most: int = 3) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
