"""Groups drawn by Hypothesis: few and small draws, so that ten thousand take seconds.

Decides: which groups are drawn, and that a smaller draw is a simpler group, so that what breaks a
promise shrinks to a group that a person can read.
Never: looks at the assignor, except to have it make the user data of a claim.
KIPs: 345 (static members), 881 (racks).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hypothesis import strategies as st

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.conformance.checks_same import Pair
from kgroup.assignors.conformance.hostile import FOREIGN, FORGED, GENERATIONS, NUMBERS, forge
from kgroup.assignors.conformance.offence import Elsewhere
from kgroup.assignors.conformance.rounds import BEGAN_AT
from kgroup.assignors.conformance.sent import as_sent
from kgroup.assignors.conformance.stories import Change, Kind, Story
from kgroup.assignors.conformance.subject import Subject
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["Saying", "groups", "pairs", "stories"]


class Saying(Enum):
    """What the members of drawn groups say they hold."""

    NOTHING = "nothing"
    TRUTH = "what nobody else holds"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class _Names:
    """What a group's topics and members are called."""

    topics: tuple[str, ...]
    members: tuple[str, ...]


# Some stand in another order by UTF-16 unit than by code point, some differ in little.
_NAMES: Final = (
    _Names(("t", "u", "v"), ("a", "b", "c", "d", "e")),
    _Names(("täglich", "日誌", "\U0001f600"), ("\uff5e-1", "\U0001f600-2", "ü-3", "a-4", "-5")),
    _Names(("t", "T", "t.1"), ("m1", "m10", "M1", "m1 ", "m")),
)
_RACKS: Final = (None, "east", "west", "nörd")
_NUMBERS: Final = (
    *((0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4), ()),
    *((1, 3), (7,), (0, 1, 2, 3, 4, 5, 6), (2, 5, 6, 11)),
)
_GENERATION: Final = 7
_PLACES: Final = 12
"""Which member or topic a change is about; taken modulo how many there are."""

_TO: Final = tuple(st.integers(0, most) for most in range(128))
"""Strategies by their largest number; larger ones would be drawn from another distribution."""


@st.composite
def groups(
    draw: st.DrawFn,
    subject: Subject,
    sayings: Sequence[Saying] = tuple(Saying),
    *,
    equal: bool = False,
) -> GroupSubscription:
    """Draw a group.

    Args:
        draw: given by Hypothesis.
        subject: whose user data members send.
        sayings: what members may say they hold.
        equal: whether everybody subscribes to the same topics, all of them.
    """
    group, later = _draw_scene(draw, equal=equal)
    saying = sayings[draw(_TO[len(sayings) - 1])]
    match saying:
        case Saying.NOTHING:
            members = group.members
        case Saying.TRUTH:
            members = tuple(_truthful(draw, subject, group))
        case Saying.ANYTHING:
            members = tuple(_anybody(draw, subject, group, readable=equal))
    said = GroupSubscription(members, group.topics, group.now)
    return as_sent(said) if later else said


@st.composite
def pairs(draw: st.DrawFn, subject: Subject) -> Pair:
    """Draw two groups that have nothing to do with each other."""
    return Pair(draw(groups(subject)), draw(groups(subject)))


@st.composite
def stories(draw: st.DrawFn, kinds: Sequence[Kind], *, equal: bool = False) -> Story:
    """Draw a group and what happens to it.

    Args:
        draw: given by Hypothesis.
        kinds: what may happen last; before that, anything may.
        equal: whether everybody subscribes to the same topics, all the time.
    """
    group, _ = _draw_scene(draw, equal=equal)
    early = [kind for kind in Kind if not equal or kind.keeps_equal]
    return Story(group, _draw_change(draw, early), _draw_change(draw, kinds), equal)


def _draw_change(draw: st.DrawFn, kinds: Sequence[Kind]) -> Change:
    drawn = draw(_TO[len(kinds) * _PLACES - 1])
    return Change(kinds[drawn // _PLACES], drawn % _PLACES)


def _draw_scene(draw: st.DrawFn, *, equal: bool) -> tuple[GroupSubscription, bool]:
    """Draw topics and members that claim nothing, and whether it is some time after 1970."""
    shape = draw(_TO[6 * len(_NAMES) - 1])
    names, later = _NAMES[shape // 6], bool(shape // 3 % 2)
    racks = draw(_TO[9])
    topics = {
        topic: _racked(_NUMBERS[draw(_TO[len(_NUMBERS) - 1])], racks)
        for topic in names.topics[: 1 + shape % 3]
    }
    members = tuple(
        _member(name, place, draw(_TO[127]), tuple(topics), equal=equal)
        for place, name in enumerate(names.members[: 1 + draw(_TO[4])])
    )
    return GroupSubscription(members, topics, BEGAN_AT if later else 0.0), later


def _member(name: str, place: int, drawn: int, topics: Sequence[str], *, equal: bool) -> Member:
    """Return a member out of 7 drawn bits: 4 of topics, 1 of its identity, 2 of its rack."""
    wanted = frozenset(topics)
    if not equal:
        wanted = frozenset(topic for bit, topic in enumerate(topics) if not drawn >> bit & 1)
        wanted |= {FOREIGN} if drawn >> 3 & 1 else frozenset()
    return Member(
        member_id=name,
        topics=wanted,
        group_instance_id=f"i{9 - place}" if drawn >> 4 & 1 else None,
        rack=_RACKS[drawn >> 5],
    )


def _racked(numbers: Sequence[int], pattern: int) -> dict[int, PartitionRacks]:
    """Return partitions by number: without racks, or each beside the one before it."""
    if not pattern:
        return dict.fromkeys(numbers, PartitionRacks())
    shift, replicas = divmod(pattern - 1, 3)
    known = _RACKS[1:]
    return {
        number: PartitionRacks(
            known[(place + shift) % 3],
            frozenset(known[(place + shift + also) % 3] for also in range(replicas + 1)),
        )
        for place, number in enumerate(numbers)
    }


def _truthful(draw: st.DrawFn, subject: Subject, group: GroupSubscription) -> Iterator[Member]:
    """Yield the members with what they hold: each partition one of them, or nobody."""
    choices = len(group.members) + 1
    partitions = tuple(group.partitions)
    owners: list[int] = []
    for _ in range(0, len(partitions), 2):
        owners += divmod(draw(_TO[choices * choices - 1]), choices)
    for place, member in enumerate(group.members, 1):
        held = [
            tp
            for tp, owner in zip(partitions, owners, strict=False)
            if owner == place and tp.topic in member.topics
        ]
        yield _claiming(subject, member, held, _GENERATION if held else None)


def _claiming(
    subject: Subject, member: Member, held: Sequence[TopicPartition], generation_id: int | None
) -> Member:
    """Return a member that says what it holds as this assignor's members do."""
    eager = subject.protocol is RebalanceProtocol.EAGER
    return Member(
        member_id=member.member_id,
        topics=member.topics,
        group_instance_id=member.group_instance_id,
        rack=member.rack,
        owned=() if eager else tuple(held),
        generation_id=generation_id,
        user_data=_encoded(subject, held, generation_id),
    )


def _anybody(
    draw: st.DrawFn, subject: Subject, group: GroupSubscription, *, readable: bool
) -> Iterator[Member]:
    """Yield the members with claims and bytes of any kind."""
    topics = (*group.topics, FOREIGN)
    for member in group.members:
        count = draw(_TO[3 if readable else 7])
        if count > 3:
            yield Member(
                member_id=member.member_id,
                topics=frozenset(),
                group_instance_id=member.group_instance_id,
                unreadable="cut off",
            )
            continue
        drawn = [draw(_TO[len(NUMBERS) * len(topics) - 1]) for _ in range(count)]
        claim = tuple(
            TopicPartition(topics[one // len(NUMBERS)], NUMBERS[one % len(NUMBERS)])
            for one in drawn
        )
        kind, said = divmod(draw(_TO[FORGED * len(GENERATIONS) - 1]), len(GENERATIONS))
        generation_id = GENERATIONS[said]
        own = _encoded(subject, claim, generation_id)
        yield Member(
            member_id=member.member_id,
            topics=member.topics,
            group_instance_id=member.group_instance_id,
            rack=member.rack,
            owned=claim,
            generation_id=generation_id,
            user_data=forge(kind, own, claim, generation_id),
            version=1 if generation_id is None else 3,
        )


def _encoded(
    subject: Subject, held: Sequence[TopicPartition], generation_id: int | None
) -> bytes | None:
    try:
        return subject.encode(LastAssignment(held), generation_id)
    except Elsewhere:
        return None
