"""Groups out of bytes: what Hypothesis draws is one short string of bytes for each.

Decides: which groups there are, and that a smaller byte is a simpler group, so that what breaks a
promise shrinks to a group that a person can read. One draw for each group is also what makes ten
thousand of them take seconds.
Never: looks at the assignor, except to have it make the user data that members send.
KIPs: 345 (static members), 881 (racks).

    shape | members | racks | saying | 3 topics | 5 members | 25 bytes of claims
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Final, Generic, TypeVar

from hypothesis import strategies as st

from kgroup.assignors.api import LastAssignment
from kgroup.assignors.conformance.checks_same import Pair, remade
from kgroup.assignors.conformance.gallery import FOREIGN, FORGED, GENERATIONS, NUMBERS, forge
from kgroup.assignors.conformance.rounds import BEGAN_AT, Change, Kind, Story
from kgroup.assignors.conformance.subject import Elsewhere, Subject, as_sent
from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks
from kgroup.types import RebalanceProtocol, TopicPartition
from kgroup.values import dataclass

T = TypeVar("T")


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
_RACK_PATTERNS: Final = 10
_NUMBERS: Final = (
    *((0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4), ()),
    *((1, 3), (7,), (0, 1, 2, 3, 4, 5, 6), (2, 5, 6, 11)),
)
_GENERATION: Final = 7

_SHAPE, _COUNT, _PATTERN, _SAYING, _TOPICS, _MEMBERS, _CLAIMS = 0, 1, 2, 3, 4, 7, 12
_CLAIM: Final = 5
"""Bytes of one member's claims: how many, up to three, and what it adds."""

_SIZE: Final = _CLAIMS + 5 * _CLAIM


@dataclass(frozen=True, slots=True)
class Drawn(Generic[T]):
    """What is drawn, and what it stands for.

    Making it runs the assignor's own code, which may draw chance or raise; so Hypothesis only
    hears of the bytes.

    Args:
        size: of the bytes.
        make: what they stand for.
    """

    size: int
    make: Callable[[bytes], T]

    @property
    def strategy(self) -> st.SearchStrategy[bytes]:
        """The strategy for the bytes."""
        return st.binary(min_size=self.size, max_size=self.size)


def groups(
    subject: Subject, sayings: Sequence[Saying] = tuple(Saying), *, equal: bool = False
) -> Drawn[GroupSubscription]:
    """Return what stands for groups.

    Args:
        subject: the assignor whose user data members send.
        sayings: what members may say they hold.
        equal: whether everybody subscribes to the same topics, all of them.
    """
    return Drawn(_SIZE, partial(_group, subject, sayings, equal=equal))


def pairs(subject: Subject) -> Drawn[Pair]:
    """Return what stands for two groups that have nothing to do with each other."""
    one = groups(subject)
    return Drawn(2 * _SIZE, lambda data: Pair(one.make(data[:_SIZE]), one.make(data[_SIZE:])))


def stories(kinds: Sequence[Kind], *, equal: bool = False) -> Drawn[Story]:
    """Return what stands for a group and what happens to it.

    Args:
        kinds: what may happen last; before that, anything may.
        equal: whether all members subscribe to the same topics, all the time, and none has a
            rack, so that no partition is better off with one member than with another.
    """
    return Drawn(_CLAIMS + 4, partial(_story, kinds, equal=equal))


def _story(kinds: Sequence[Kind], data: bytes, *, equal: bool) -> Story:
    changes = data[_CLAIMS:]
    early = [kind for kind in Kind if not equal or kind.keeps_equal]
    return Story(
        _scene(data, equal=equal, racks=not equal),
        Change(early[changes[0] % len(early)], changes[1]),
        Change(kinds[changes[2] % len(kinds)], changes[3]),
        equal,
    )


def _group(
    subject: Subject, sayings: Sequence[Saying], data: bytes, *, equal: bool
) -> GroupSubscription:
    group = _scene(data, equal=equal, racks=True)
    match sayings[data[_SAYING] % len(sayings)]:
        case Saying.NOTHING:
            members = group.members
        case Saying.TRUTH:
            members = tuple(_truthful(subject, group, data[_CLAIMS:]))
        case Saying.ANYTHING:
            members = tuple(_anybody(subject, group, data[_CLAIMS:], readable=equal))
    said = GroupSubscription(members, group.topics, group.now)
    return as_sent(said) if group.now else said


def _scene(data: bytes, *, equal: bool, racks: bool) -> GroupSubscription:
    """Return topics, and members that claim nothing; `now` is 0 or many years later."""
    shape = data[_SHAPE] % (6 * len(_NAMES))
    names, later = _NAMES[shape // 6], shape // 3 % 2
    pattern = data[_PATTERN] % _RACK_PATTERNS if racks else 0
    topics = {
        topic: _racked(_NUMBERS[data[_TOPICS + place] % len(_NUMBERS)], pattern)
        for place, topic in enumerate(names.topics[: 1 + shape % 3])
    }
    members = tuple(
        _member(name, place, data[_MEMBERS + place], tuple(topics), equal=equal, racks=racks)
        for place, name in enumerate(names.members[: 1 + data[_COUNT] % 5])
    )
    return GroupSubscription(members, topics, BEGAN_AT if later else 0.0)


def _member(
    name: str, place: int, drawn: int, topics: Sequence[str], *, equal: bool, racks: bool
) -> Member:
    """Return a member out of 7 bits: 4 of topics, 1 of its identity, 2 of its rack."""
    wanted = frozenset(topics)
    if not equal:
        wanted = frozenset(topic for bit, topic in enumerate(topics) if not drawn >> bit & 1)
        wanted |= {FOREIGN} if drawn >> 3 & 1 else frozenset()
    return Member(
        member_id=name,
        topics=wanted,
        group_instance_id=f"i{9 - place}" if drawn >> 4 & 1 else None,
        rack=_RACKS[drawn >> 5 & 3] if racks else None,
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
            frozenset(str(known[(place + shift + also) % 3]) for also in range(replicas + 1)),
        )
        for place, number in enumerate(numbers)
    }


def _truthful(subject: Subject, group: GroupSubscription, data: bytes) -> Iterator[Member]:
    """Yield the members with what they hold: each partition one of them, or none."""
    owners = [byte % (len(group.members) + 1) for byte in data]
    for place, member in enumerate(group.members, 1):
        held = [
            tp
            for tp, owner in zip(group.partitions, owners, strict=False)
            if owner == place and tp.topic in member.topics
        ]
        yield _claiming(subject, member, held, _GENERATION if held else None)


def _claiming(
    subject: Subject, member: Member, held: Sequence[TopicPartition], generation_id: int | None
) -> Member:
    """Return a member that says what it holds as this assignor's members do."""
    eager = subject.protocol is RebalanceProtocol.EAGER
    return replace(
        member,
        owned=() if eager else tuple(held),
        generation_id=generation_id,
        user_data=_encoded(subject, held, generation_id),
    )


def _anybody(
    subject: Subject, group: GroupSubscription, data: bytes, *, readable: bool
) -> Iterator[Member]:
    """Yield the members with claims and bytes of any kind."""
    topics = (*group.topics, FOREIGN)
    echoes = {} if subject.has_user_data else _echoes(subject, group)
    for place, member in enumerate(group.members):
        count, one, two, three, kind = data[place * _CLAIM : (place + 1) * _CLAIM]
        if count % 8 > 3 and not readable:
            yield replace(member, topics=frozenset(), rack=None, unreadable="cut off")
            continue
        claim = tuple(
            TopicPartition(topics[byte // len(NUMBERS) % len(topics)], NUMBERS[byte % len(NUMBERS)])
            for byte in (one, two, three)[: count % 4]
        )
        generation_id = GENERATIONS[kind % len(GENERATIONS)]
        own = echoes.get(member.member_id) or _encoded(subject, claim, generation_id)
        yield replace(
            member,
            owned=claim,
            generation_id=generation_id,
            user_data=forge(kind // len(GENERATIONS) % FORGED, own, claim, generation_id),
            version=1 if generation_id is None else 3,
        )


def _encoded(
    subject: Subject, held: Sequence[TopicPartition], generation_id: int | None
) -> bytes | None:
    try:
        return subject.encode(LastAssignment(held), generation_id)
    except Elsewhere:
        return None


def _echoes(subject: Subject, group: GroupSubscription) -> Mapping[str, bytes]:
    """Return what members send back that were in this group when none had anything."""
    try:
        return subject.ask(remade(group)).user_data
    except Elsewhere:
        return {}
