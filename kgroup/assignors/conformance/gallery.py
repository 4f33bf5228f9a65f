"""Odd groups by name: those that chance draws rarely, and that assignors forget.

Decides: which corners every check goes through besides the groups that are drawn.
Never: holds a claim that is not so; `drawing` has those.
KIPs: 345, 881.
"""

from collections.abc import Iterable, Mapping

from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member, PartitionRacks

__all__ = ["gallery"]

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
