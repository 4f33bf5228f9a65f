"""T12: every assignor of ours, asked about any group.

Decides: the first byte of an input is the assignor, the rest the tape of a group. It comes to an
end, within two seconds for hundreds of members and thousands of partitions; S1, each partition
that somebody may have is given once, to a member that subscribes, or withheld as the protocol
allows; the same group, described in another order, gets the same; and a cooperative group has
settled after three rounds.
"""

from dataclasses import replace
from typing import Final

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription, Member
from kgroup.assignors.leader import divide, encode_group_assignment
from kgroup.types import RebalanceProtocol
from kgroup.wire.consumer_protocol import decode_assignment
from kgroup.wire.user_data import encode_sticky_user_data
from tests.search.fuzz.making import make_group
from tests.search.fuzz.target import Tape, Target, sure

_ASSIGNORS: Final = tuple(BUILT_IN.values())
_COMPARED: Final = 4
_ROUNDS: Final = 3
_SECONDS: Final = 2.0


def check(data: bytes) -> bool:
    assignor = _ASSIGNORS[(data[0] if data else 0) % len(_ASSIGNORS)]
    group = make_group(Tape(data[1:]))
    cooperative = RebalanceProtocol.COOPERATIVE in assignor.supported_protocols
    protocol = RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER
    assignment = divide(assignor, group, protocol)
    _once(group, assignment)
    if len(data) % _COMPARED == 0:
        turned = GroupSubscription(group.members[::-1], dict(reversed([*group.topics.items()])))
        again = divide(assignor, turned, protocol)
        sure(_given(again) == _given(assignment), "the order of members changes nothing", group)
    for _ in range(_ROUNDS):
        if not assignment.withheld:
            return True
        group = _next_round(group, assignment)
        assignment = divide(assignor, group, protocol)
        _once(group, assignment)
    sure(not assignment.withheld, "a cooperative group settles", assignment.withheld)
    return True


def _once(group: GroupSubscription, assignment: GroupAssignment) -> None:
    """S1 and S10, without any of the product's own checks."""
    given = [tp for partitions in assignment.partitions.values() for tp in partitions]
    everything = [*given, *assignment.withheld]
    sure(len(everything) == len(set(everything)), "S1: nothing is given twice", everything)
    wanted = {
        (topic, number)
        for topic, partitions in group.topics.items()
        for number in partitions
        if any(topic in member.topics for member in group.members)
    }
    sure(set(everything) == wanted, "everything is given or withheld", wanted ^ set(everything))
    topics = {member.member_id: member.topics for member in group.members}
    sure(assignment.partitions.keys() == topics.keys(), "S10: every member, and nobody else")
    for member_id, partitions in assignment.partitions.items():
        foreign = {tp.topic for tp in partitions} - topics[member_id]
        sure(not foreign, "only what a member subscribes to", member_id, foreign)
    for member_id, sent in encode_group_assignment(group, assignment).items():
        read = decode_assignment(sent).partitions
        sure(sorted(read) == sorted(assignment.of(member_id)), "a member reads what it was given")


def _given(assignment: GroupAssignment) -> object:
    return {who: sorted(given) for who, given in assignment.partitions.items()}


def _next_round(group: GroupSubscription, assignment: GroupAssignment) -> GroupSubscription:
    """Return the group as it joins again, each member with what it was given."""
    return GroupSubscription(
        tuple(_rejoined(member, assignment) for member in group.members), group.topics
    )


def _rejoined(member: Member, assignment: GroupAssignment) -> Member:
    owned = tuple(assignment.of(member.member_id))
    return replace(
        member,
        owned=owned,
        generation_id=9,
        user_data=encode_sticky_user_data(owned, 9),
        version=3,
    )


def corpus() -> list[bytes]:
    """Tapes for each assignor: recorded groups, and drawn ones of every size."""
    found = [
        bytes((which, 1, number >> 8, number & 255))
        + bytes((number * 5 + at) % 97 for at in range(12))
        for number in range(0, 600, 3)
        for which in range(len(_ASSIGNORS))
    ]
    for number in range(400):
        tone = 1 + number % 7
        drawn = bytes((number * 11 + at * at * tone) % 256 for at in range(30 + number % 90))
        found.append(bytes((number % len(_ASSIGNORS), 0)) + drawn)
    return found


ASSIGNING: Final = Target(
    name="T12",
    about="an assignor comes to an end, and gives each partition once",
    corpus=corpus,
    check=check,
    read=check,
    costs=4,
    patience=lambda _: _SECONDS,
    room=None,
)
