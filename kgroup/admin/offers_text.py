"""What is known of a group's assignors, and what stands in the way of a plan, for a person.

Decides: the words and their order; nothing is judged here.
Never: claims to know what is not known: it is shown as `?`.
"""

from collections.abc import Iterable, Iterator, Sequence

from kgroup.admin.obstacles import Obstacle
from kgroup.admin.offers import GroupOffers, MemberOffers

_COLUMNS = ("member", "client", "lists", "rebalances", "subscription", "kept", "owns")


def offers_in_words(offers: GroupOffers, obstacles: Iterable[Obstacle] = ()) -> str:
    """Return lines of text: the group, its members in a table, and what stands in the way.

    Args:
        offers: of a live group.
        obstacles: of a plan for it.
    """
    return "\n".join([*_head(offers), *_table(offers), *_in_the_way(obstacles)])


def _head(offers: GroupOffers) -> Iterator[str]:
    group = offers.group
    count = len(group.members or ())
    noun = "member" if count == 1 else "members"
    yield (
        f"group {group.group_id}: {group.state}, {count} {noun}, "
        f"{group.group_type.value} protocol, assignor in use: {group.assignor or 'none'}"
    )
    if offers.has_lists:
        yield f"every member lists: {_names(offers.common)}"
    if offers.refusal is not None:
        yield f"what else they list could not be asked: {offers.refusal}"
    if offers.not_common:
        who = "it does not list" if len(offers.members) == 1 else "not every member lists"
        yield f"{who}: {_names(offers.not_common)}"


def _table(offers: GroupOffers) -> Iterator[str]:
    if not offers.members:
        return
    rows = [_COLUMNS, *(_row(member) for member in offers.members)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells).rstrip()}"


def _row(one: MemberOffers) -> tuple[str, ...]:
    member = one.member
    static = "" if member.group_instance_id is None else f" (static {member.group_instance_id})"
    more = "" if one.lacks else ", ?"
    owns = "?" if member.partitions is None else str(len(member.partitions))
    shown = one.version is not None
    return (
        f"{member.member_id}{static}",
        member.client_id,
        f"{_names(one.offers)}{more}",
        "?" if one.protocol is None else one.protocol.value,
        f"v{one.version}" if shown else "?",
        str(one.kept) if shown else "?",
        owns,
    )


def _in_the_way(obstacles: Iterable[Obstacle]) -> Iterator[str]:
    for each in obstacles:
        where = "" if each.step is None else f" (step {each.step})"
        yield f"{each.weight.value}{where}: {each.text}"


def _names(names: Iterable[str]) -> str:
    found: Sequence[str] = sorted(names)
    return ", ".join(found) or "nothing"
