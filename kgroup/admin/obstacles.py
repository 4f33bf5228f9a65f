"""What stands in the way when a group's members are replaced, or restarted with other assignors.

Decides: for each planned list of assignors whether members with it are let in, and what it costs.
Never: asks anybody; all it knows is in `GroupOffers`. What nobody can know is reported as such.
KIPs: 345 (static members), 429 (from eager to cooperative), 792 (generation of a claim), 848.

A plan is a sequence of lists. In each step every member is restarted, one by one, with the next
list. The old and the new members of a step are in one group, so some name must be in both lists:
without it the coordinator refuses the new one with INCONSISTENT_GROUP_PROTOCOL.

Another plan is that members come to speak the protocol of KIP-848: see `moving`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from kgroup.admin.offers import GroupOffers, MemberOffers, is_eager_only
from kgroup.assignors import BUILT_IN
from kgroup.assignors.claims import MemberClaim, cooperative_claim, sticky_claim
from kgroup.assignors.member import Member
from kgroup.net.group_description import GroupType
from kgroup.types import RebalanceProtocol
from kgroup.values import dataclass

_CLAIMS: Final[Mapping[str, Callable[[Member], MemberClaim]]] = MappingProxyType(
    {"sticky": sticky_claim, "cooperative-sticky": cooperative_claim}
)
"""How the assignors that believe claims read them."""


class Weight(Enum):
    """How much an obstacle matters."""

    BLOCKS = "blocks"
    DOUBTFUL = "doubtful"
    COSTS = "costs"
    NOTE = "note"


class ObstacleKind(Enum):
    """What stands in the way."""

    OTHER_PROTOCOL = "the group speaks the protocol of KIP-848"
    OTHER_TYPE = "the group is not one of consumers"
    NOT_SETTLED = "the group is in the middle of a rebalance"
    UNREADABLE = "a member sent what nobody can read"
    FOREIGN_ASSIGNOR = "the assignor in use is not built in"
    NOTHING_IN_COMMON = "a step leaves no assignor in common"
    NOT_ASKED = "whether an assignor is in common was not asked"
    HANDS_ALL_BACK = "a step makes cooperative members eager"
    PERHAPS_MIXED = "some members may be eager among cooperative ones"
    NO_GENERATION = "claims come without a generation"
    STATIC_MEMBERS = "members are static"
    DIFFERENT_TOPICS = "members read different topics"
    USER_DATA = "an assignor sends data of its own"
    OTHER_ASSIGNOR = "the coordinator does not have the assignor in use"
    BOTH_PROTOCOLS = "members speak both protocols"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that stands in the way, or should be known.

    Args:
        kind: what it is.
        weight: how much it matters.
        text: for a person: what, where, and the way out.
        members: ids of the members it is about, sorted; empty: the group as a whole.
        step: place of the list in the plan, from 1; None: of the group as it is.
    """

    kind: ObstacleKind
    weight: Weight
    text: str
    members: tuple[str, ...] = ()
    step: int | None = None


def find_obstacles(offers: GroupOffers, *steps: Sequence[str]) -> tuple[Obstacle, ...]:
    """Return what stands in the way of a plan; the gravest come first.

    Args:
        offers: of the live group.
        steps: names of assignors that all members are to be restarted with, one list after the
            other, in order of preference; none: only the group as it is is judged.
    """
    found = [*_of_the_group(offers), *_of_the_members(offers), *_of_the_steps(offers, steps)]
    order = list(Weight)
    return tuple(sorted(found, key=lambda each: order.index(each.weight)))


# -- the group as it is --------------------------------------------------------------------


def _of_the_group(offers: GroupOffers) -> Iterator[Obstacle]:
    group = offers.group
    if group.group_type is not GroupType.CLASSIC:
        yield Obstacle(
            ObstacleKind.OTHER_PROTOCOL,
            Weight.BLOCKS,
            f"group {group.group_id!r} speaks the {group.group_type.value} protocol: its "
            "coordinator assigns, and members have no list of assignors. kgroup's members with "
            "group_protocol='consumer' join it as they are",
        )
    elif group.protocol_type not in {None, "consumer"}:
        yield Obstacle(
            ObstacleKind.OTHER_TYPE,
            Weight.BLOCKS,
            f"group {group.group_id!r} is of type {group.protocol_type!r}, which no consumer can "
            "join; take another group_id",
        )
    elif group.members and not offers.is_shown:
        yield Obstacle(
            ObstacleKind.NOT_SETTLED,
            Weight.DOUBTFUL,
            f"group {group.group_id!r} is {group.state}: subscriptions are shown only of a Stable "
            "group. Ask again when it has settled",
        )
    if group.assignor is not None and offers.has_lists and offers.common.isdisjoint(BUILT_IN):
        yield Obstacle(
            ObstacleKind.FOREIGN_ASSIGNOR,
            Weight.DOUBTFUL,
            f"the assignor in use, {group.assignor!r}, is not built into kgroup: members of "
            "kgroup need one of that name that reads and writes the same user data, or every "
            f"member must list one of {', '.join(BUILT_IN)} too",
        )


def _of_the_members(offers: GroupOffers) -> Iterator[Obstacle]:
    if static := [one for one in offers.members if one.member.group_instance_id is not None]:
        yield Obstacle(
            ObstacleKind.STATIC_MEMBERS,
            Weight.NOTE,
            f"{_named(static)}: a process that replaces one keeps its group_instance_id; then no "
            "round begins, and it gets what the one before had (KIP-345)",
            member_ids(static),
        )
    newer = offers.group.group_type is GroupType.CONSUMER
    if newer and (classic := [one for one in offers.members if one.member.is_classic]):
        yield Obstacle(
            ObstacleKind.BOTH_PROTOCOLS,
            Weight.NOTE,
            f"{_named(classic)}: speaks the classic protocol among members of KIP-848. The "
            "coordinator divides for all; no member leads, and no list of assignors is asked",
            member_ids(classic),
        )
    if not offers.is_shown:
        return
    if unread := [one for one in offers.members if one.member.subscription is None]:
        yield Obstacle(
            ObstacleKind.UNREADABLE,
            Weight.BLOCKS,
            f"{_named(unread)}: the subscription cannot be read, so a leader of kgroup gives it "
            "nothing, and some bytes stop the whole group. Look at that client first",
            member_ids(unread),
        )
    yield from _of_claims(offers)
    topics = {one.member.topics for one in offers.members if one.member.topics is not None}
    if len(topics) > 1:
        listed = "; ".join(sorted(", ".join(each) or "none" for each in topics))
        yield Obstacle(
            ObstacleKind.DIFFERENT_TOPICS,
            Weight.NOTE,
            f"members read different topics ({listed}): replace each by one that reads the same",
        )


def _of_claims(offers: GroupOffers) -> Iterator[Obstacle]:
    """Say what the claims of members leave open; eager ones but those of sticky claim nothing."""
    if offers.protocol is not RebalanceProtocol.EAGER:
        cooperative = RebalanceProtocol.COOPERATIVE
        doubtful = [o for o in offers.members if o.member.partitions and o.protocol is None]
        if doubtful and any(one.protocol is cooperative for one in offers.members):
            yield Obstacle(
                ObstacleKind.PERHAPS_MIXED,
                Weight.DOUBTFUL,
                f"{_named(doubtful)}: kept nothing when the last round began. Either it was new, "
                "or it lists an eager assignor too, and hands everything back in each round. Ask "
                "again after another round",
                member_ids(doubtful),
            )
    if timeless := [one for one in offers.members if _claims_without_time(offers, one)]:
        yield Obstacle(
            ObstacleKind.NO_GENERATION,
            Weight.COSTS,
            f"{_named(timeless)}: claims partitions without saying from which generation, so a "
            "member that was away can take them back from their owner, or both lose them "
            "(KIP-792). It ends when these members are replaced",
            member_ids(timeless),
        )


def _claims_without_time(offers: GroupOffers, one: MemberOffers) -> bool:
    """Tell whether a sticky assignor reads a claim out of a subscription, but no generation."""
    said = one.member.subscription
    read = _CLAIMS.get(offers.group.assignor or "")
    if said is None or read is None:
        return False
    claim = read(
        Member(
            member_id=one.member.member_id,
            topics=frozenset(said.topics),
            owned=said.owned,
            generation_id=said.generation_id,
            user_data=said.user_data,
        )
    )
    return bool(claim.partitions) and claim.generation_id is None


# -- the plan ------------------------------------------------------------------------------


def _of_the_steps(offers: GroupOffers, steps: Sequence[Sequence[str]]) -> Iterator[Obstacle]:
    if not offers.has_lists:
        return
    for number, step in enumerate(steps, 1):
        if number == 1:
            yield from _of_the_first(offers, step)
        else:
            yield from _of_a_later(number, steps[number - 2], step)
    if steps and (makes_eager := _hands_all_back(offers, steps[0])) is not None:
        yield makes_eager


def _of_the_first(offers: GroupOffers, step: Sequence[str]) -> Iterator[Obstacle]:
    """Judge the first new member that joins the members that are there."""
    if not offers.common.isdisjoint(step):
        return
    unknown = [name for name in step if name not in offers.not_common]
    if unknown:
        yield Obstacle(
            ObstacleKind.NOT_ASKED,
            Weight.DOUBTFUL,
            f"step 1 lists {_list(step)}; all members list {_list(sorted(offers.common))}, and "
            f"whether they list {_list(unknown)} {_why_not(offers)}",
            step=1,
        )
        return
    who, kept = _who_lacks(offers), sorted(offers.common)
    first = offers.group.assignor or (kept[0] if kept else None)
    way_out = "give all members a name in common first"
    if first is not None:
        both = [first, *step]
        way_out = f"list {first!r} too: {_list(both)}, then {_list(step)} in another restart"
    yield Obstacle(
        ObstacleKind.NOTHING_IN_COMMON,
        Weight.BLOCKS,
        f"step 1 lists {_list(step)}; {who} {_list(kept)}. A member with that list is refused "
        f"(INCONSISTENT_GROUP_PROTOCOL); {way_out}",
        step=1,
    )


def _why_not(offers: GroupOffers) -> str:
    if offers.refusal is None:
        return "was not asked"
    return f"could not be asked ({offers.refusal})"


def _who_lacks(offers: GroupOffers) -> str:
    """Name the members with a list that is too short, as far as they are known."""
    if len(offers.members) == 1:
        return f"{_named(offers.members)} offers only"
    return f"the {len(offers.members)} members have in common only"


def _of_a_later(number: int, before: Sequence[str], step: Sequence[str]) -> Iterator[Obstacle]:
    """Judge a step whose old members are those of the step before."""
    if set(before) & set(step):
        return
    yield Obstacle(
        ObstacleKind.NOTHING_IN_COMMON,
        Weight.BLOCKS,
        f"step {number} lists {_list(step)}, and step {number - 1} leaves members with "
        f"{_list(before)}: no name is in both, so the first member of step {number} is refused "
        f"(INCONSISTENT_GROUP_PROTOCOL). Put a step with {_list([*before, *step])} in between",
        step=number,
    )


def _hands_all_back(offers: GroupOffers, step: Sequence[str]) -> Obstacle | None:
    eager = [name for name in step if is_eager_only(name)]
    if not eager or offers.protocol is RebalanceProtocol.EAGER:
        return None
    return Obstacle(
        ObstacleKind.HANDS_ALL_BACK,
        Weight.COSTS,
        f"step 1 lists {_list(eager)} in a group that may be cooperative: members with that list "
        "hand everything back in each round. Leave it out, unless the group is to become eager",
        step=1,
    )


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def _named(members: Sequence[MemberOffers]) -> str:
    """Name members by what their owners called them, and by id where there are several."""
    shown = ", ".join(f"{one.member.member_id!r}" for one in members[:3])
    more = f" and {len(members) - 3} more" if len(members) > 3 else ""
    return f"{'member' if len(members) == 1 else 'members'} {shown}{more}"


def member_ids(members: Iterable[MemberOffers]) -> tuple[str, ...]:
    """Return the ids of members, sorted."""
    return tuple(sorted(one.member.member_id for one in members))
