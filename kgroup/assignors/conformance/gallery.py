"""Odd groups by name: those that chance draws rarely, and that assignors forget.

Decides: which corners every check goes through besides the groups that are drawn; which bad claims
and bad bytes members may send (`forge`): of other versions, of other assignors, of generations they
slept through, and of programs that write anything.
Never: holds a false claim itself (`drawing` does); forges what `GroupSubscription` refuses.
KIPs: 54, 341 and 429 (user data of Kafka's own assignors), 345, 792, 881.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks
from kgroup.types import TopicPartition
from kgroup.wire.user_data import encode_cooperative_user_data, encode_sticky_user_data

_Topics = Mapping[str, Iterable[int]]


def gallery() -> dict[str, GroupSubscription]:
    """Return name -> group, made anew: an assignor may change what it is given."""
    plain = _group(["a", "b"], {"t": range(3)})
    return {
        "nobody and nothing": _group([], {}),
        "topics without members": _group([], {"t": range(2)}),
        "members without topics": _group(["a", "b"], {}, wanted=[]),
        "a member without topics beside another": _with(
            plain, Member(member_id="0", topics=frozenset())
        ),
        "topics without metadata": _group(["a", "b"], {}, wanted=["gone"]),
        "a topic without partitions": _group(["a", "b"], {"t": (), "u": range(2)}),
        "more members than partitions": _group(["a", "b", "c", "d"], {"t": range(2)}),
        "one member": _group(["a"], {"t": range(3), "u": range(2)}),
        "topics that do not meet": _with(
            _group(["a"], {"t": range(2)}), Member(member_id="b", topics=frozenset({"u"})), "u"
        ),
        "numbers with gaps": _group(["a", "b"], {"t": (1, 4, 5), "u": (7,)}),
        "many partitions": _group(["a", "b", "c"], {"t": range(65)}),
        "many members": _group([f"m{number}" for number in range(16)], {"t": range(7)}),
        "an unreadable member": _with(
            plain, Member(member_id="0", topics=frozenset(), unreadable="cut off")
        ),
        "static members": _static(),
        "racks on one side only": _racks(),
        "names of 249 letters": _group(["m" * 249, "m" * 248 + "n"], {"t" * 249: range(2)}),
    }


def _group(
    members: Iterable[str], topics: _Topics, wanted: Iterable[str] | None = None
) -> GroupSubscription:
    names = frozenset(topics if wanted is None else wanted)
    return GroupSubscription(
        tuple(Member(member_id=each, topics=names) for each in members),
        {topic: dict.fromkeys(numbers, PartitionRacks()) for topic, numbers in topics.items()},
    )


def _with(group: GroupSubscription, member: Member, topic: str = "t") -> GroupSubscription:
    topics = {**group.topics, topic: dict.fromkeys(range(3), PartitionRacks())}
    return GroupSubscription((*group.members, member), topics)


def _static() -> GroupSubscription:
    members = (
        Member(member_id="a", topics=frozenset({"t"}), group_instance_id="2"),
        Member(member_id="b", topics=frozenset({"t"})),
        Member(member_id="c", topics=frozenset({"t"}), group_instance_id="1"),
    )
    return GroupSubscription(members, {"t": dict.fromkeys(range(4), PartitionRacks())})


def _racks() -> GroupSubscription:
    members = (
        Member(member_id="a", topics=frozenset({"t", "u"}), rack="east"),
        Member(member_id="b", topics=frozenset({"t", "u"}), rack="nowhere"),
        Member(member_id="c", topics=frozenset({"t", "u"})),
    )
    somewhere = PartitionRacks("east", frozenset({"east", "west"}))
    return GroupSubscription(
        members,
        {"t": dict.fromkeys(range(3), PartitionRacks()), "u": dict.fromkeys(range(3), somewhere)},
    )


_MOST: Final = 2**31 - 1
FOREIGN: Final = "gone"
"""A topic that has no metadata."""

GENERATIONS: Final = (None, 7, 6, 0, _MOST)
NUMBERS: Final = (0, 1, 2, 3, 9, -1, _MOST)
"""Partition numbers in claims, most of which exist in no small topic."""

_GARBAGE: Final = (
    *(None, b"", b"\x00", b"\xff" * 9, b"{}", b'{"t": 1e999, "\xc3\x28": [null]}'),
    b"\x7f\xff\xff\xff" * 3,  # counts beyond any length
    b"\x80\x00\x00\x00" * 3,  # negative ones
    b"\x00\x00\x00\x01" + bytes(2),  # a topic without a name
    b"\xff" * 70_000,
    bytes(70_000),
)
_FORGERIES: Final = 6
FORGED: Final = _FORGERIES + len(_GARBAGE)
"""How many kinds of user data there are; the first is what the member would send itself."""


def forge(
    kind: int, own: bytes | None, claim: Sequence[TopicPartition], generation_id: int | None
) -> bytes | None:
    """Return user data of one kind.

    Args:
        kind: 0 to `FORGED` - 1.
        own: what the assignor under test makes of the claim.
        claim: what the member says it holds.
        generation_id: and since when.
    """
    match kind:
        case 0:
            return own
        case 1:
            return encode_sticky_user_data(claim, generation_id)
        case 2:
            return encode_sticky_user_data(claim, None)
        case 3:
            return encode_cooperative_user_data(generation_id)
        case 4:
            return (own or encode_sticky_user_data(claim, generation_id))[:-1]
        case 5:
            return (own or b"") + b"\x00\xff more"
        case _:
            return _GARBAGE[kind - _FORGERIES]
