"""Groups out of a tape: members whose claims are true, stale, doubled, forged or no bytes at all.

Decides: how large a group is: most are small; one in eight has dozens of members and hundreds of
partitions, one in 128 hundreds and thousands. A recorded group may be where it begins.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Final, NamedTuple

from kgroup.assignors import GroupSubscription, Member, PartitionRacks
from kgroup.types import TopicPartition
from kgroup.wire.user_data import encode_cooperative_user_data, encode_sticky_user_data
from tests import vectors
from tests.assignors.described import group as described
from tests.search.fuzz.tape import Tape

TOPICS: Final = ("t", "u", "v", "täglich", "t.1")
_RACKS: Final = (None, None, "a", "b", "c")
_GENERATIONS: Final = (None, 1, 2, 2, 3, 2**31 - 1)
_ODD: Final = (
    TopicPartition("gone", 0), TopicPartition("t", -1), TopicPartition("t", 10**6),
    TopicPartition("", 0),
)  # fmt: skip
_RECORDED: Final = 3
_EVERY: Final = 9


class Size(NamedTuple):
    """How many members, and partitions of a topic, there are at most."""

    members: int
    partitions: int


_SIZES: Final = (*[Size(6, 5)] * 112, *[Size(30, 60)] * 15, Size(200, 400))


def make_group(tape: Tape) -> GroupSubscription:
    """Return a group."""
    if tape.below(_RECORDED) == 1:
        return _changed(tape, recorded()[tape.below(len(recorded()))])
    size = tape.pick(_SIZES)
    racks = tape.chance(3)
    topics = {
        topic: _partitions(tape, tape.below(size.partitions + 1), racks=racks)
        for topic in TOPICS[: 1 + tape.below(len(TOPICS))]
    }
    alike = tape.below(2)
    members = [
        _member(tape, number, topics, alike=bool(alike))
        for number in range(1 + tape.below(size.members))
    ]
    return GroupSubscription(tuple(members), topics)


def _partitions(tape: Tape, count: int, *, racks: bool) -> dict[int, PartitionRacks]:
    gaps = tape.chance(8)
    shift = tape.below(4)
    known = [rack for rack in _RACKS if rack is not None]
    return {
        number * (2 if gaps else 1): PartitionRacks(
            known[(number + shift) % 3], frozenset(known[(number + shift) % 3 :])
        )
        if racks
        else PartitionRacks()
        for number in range(count)
    }


def _member(
    tape: Tape, number: int, topics: Mapping[str, Mapping[int, PartitionRacks]], *, alike: bool
) -> Member:
    names = (*topics, "missing")
    wanted = frozenset(topics if alike else (name for name in names if tape.below(2)))
    owned = _claim(tape, topics)
    generation_id = tape.pick(_GENERATIONS)
    return Member(
        member_id=f"m{number}",
        group_instance_id=f"i{99 - number}" if tape.chance(5) else None,
        topics=wanted,
        owned=owned,
        generation_id=generation_id,
        rack=tape.pick(_RACKS),
        user_data=_user_data(tape, owned, generation_id),
        version=1 if generation_id is None else 3,
    )


def _claim(
    tape: Tape, topics: Mapping[str, Mapping[int, PartitionRacks]]
) -> tuple[TopicPartition, ...]:
    claimed: list[TopicPartition] = []
    for topic, partitions in topics.items():
        every, first = tape.below(_EVERY), tape.below(_EVERY)
        if every:
            claimed += [TopicPartition(topic, number) for number in [*partitions][first::every]]
    if tape.chance(8):
        claimed.append(tape.pick(_ODD))
    if claimed and tape.chance(8):
        claimed.append(claimed[0])
    return tuple(claimed)


def _user_data(
    tape: Tape, owned: tuple[TopicPartition, ...], generation_id: int | None
) -> bytes | None:
    match tape.below(6):
        case 0 | 1:
            return encode_sticky_user_data(owned, generation_id)
        case 2:
            return encode_cooperative_user_data(generation_id)
        case 3:
            return tape.take(tape.below(24))
        case 4:
            return encode_sticky_user_data(owned, generation_id)[: tape.below(64)]
        case _:
            return None


# -- recorded groups -----------------------------------------------------------------------------


@cache
def recorded() -> tuple[GroupSubscription, ...]:
    """Return groups that Java's assignors were asked about."""
    scenarios = vectors.load("assignors/scenarios")
    drawn = vectors.load("assignors/random_cooperative-sticky")[::20]
    return tuple(described(line) for line in (*scenarios, *drawn) if len(line["members"]) < 100)


def _changed(tape: Tape, group: GroupSubscription) -> GroupSubscription:
    """Change a few members and topics of a group."""
    members = list(group.members)
    topics = {topic: dict(partitions) for topic, partitions in group.topics.items()}
    for _ in range(tape.below(4)):
        place = tape.below(len(members))
        match tape.below(5):
            case 0 if len(members) > 1:
                del members[place]
            case 1:
                owned = (*members[place].owned, *members[tape.below(len(members))].owned)
                members[place] = replace(members[place], owned=owned)
            case 2:
                members[place] = replace(members[place], generation_id=tape.pick(_GENERATIONS))
            case 3:
                members[place] = replace(members[place], user_data=tape.take(tape.below(24)))
            case _:
                for partitions in topics.values():
                    partitions[len(partitions) + tape.below(3)] = PartitionRacks()
    return GroupSubscription(tuple(members), topics)
