"""What members hold before an assignment: their claims, and which of them are believed.

Decides: per partition the one member whose claim counts, or that none does.
Never: believes a claim for a partition that does not exist, a repeated one, or one that a newer
claim contradicts; counts generations from anything but the claims at hand, because a group that
was deleted and made again starts over.
KIPs: 54 and 341 (sticky user data), 429 (owned partitions), 792 (generation of a subscription).

A zombie claims what another member reads by now:
1. A holds t-0 in generation 5 and is suspended. 2. The group goes on without it; B gets t-0 in
generation 6. 3. A wakes and joins, claiming t-0 of generation 5; B claims it of generation 6.
The newer claim counts. Of two claims in one generation either may be true, so neither counts.
A claim of the generation that is being made, or of a later one, cannot be true: nobody was given
anything in it yet. It counts as the oldest, so that it takes nothing from a member that holds it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kgroup.assignors.member import Member
from kgroup.assignors.numbering import PartitionNumbering
from kgroup.errors import DecodeError
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.user_data import decode_cooperative_user_data, decode_sticky_user_data

NO_GENERATION = -1  # older than every generation there is


@dataclass(frozen=True, slots=True)
class MemberClaim:
    """What one member says it holds.

    Args:
        partitions: unchecked.
        generation_id: the generation it was given them in, None when not known.
    """

    partitions: Sequence[TopicPartition] = ()
    generation_id: int | None = None


@dataclass(frozen=True, slots=True)
class SettledClaims:
    """The claims of a group, settled; partitions are given by their place in the group's order.

    Args:
        held: member id -> what it holds: its claims that count, each partition once.
        disputed: partition -> the members that claim it in the same, newest generation; none
            of them holds it.
    """

    held: Mapping[str, list[int]]
    disputed: Mapping[int, frozenset[str]]


def stated_claim(member: Member) -> MemberClaim:
    """Return the claim in the subscription's own fields."""
    return MemberClaim(member.owned, member.generation_id)


def sticky_claim(member: Member, names: dict[bytes, str] | None = None) -> MemberClaim:
    """Return the claim of an eager sticky member: its user data and nothing else.

    The subscription's own list is empty or late: an eager member hands everything back before
    it joins. User data that cannot be read claims nothing.

    Args:
        member: the one that claims.
        names: topic names read before, by their bytes; more are added.
    """
    if not member.user_data:
        return MemberClaim()
    try:
        read = decode_sticky_user_data(member.user_data, names)
    except DecodeError:
        return MemberClaim()
    return MemberClaim(read.partitions, read.generation_id)


def cooperative_claim(member: Member) -> MemberClaim:
    """Return the claim of a cooperative member.

    The subscription's own fields count; its generation comes from user data only when the
    member is too old to have the field (before version 2).
    """
    if member.generation_id is not None or not member.user_data:
        return stated_claim(member)
    try:
        generation_id = decode_cooperative_user_data(member.user_data)
    except DecodeError:
        generation_id = None
    return MemberClaim(member.owned, generation_id)


def settle(
    members: Iterable[Member],
    claim: Callable[[Member], MemberClaim],
    partitions: PartitionNumbering,
    generation_id: int | None = None,
) -> SettledClaims:
    """Decide which claims count.

    Args:
        members: of the group, each once; the order does not matter.
        claim: reads what one of them says it holds; kept no longer than it takes to count it.
        partitions: what exists; other claims are ignored.
        generation_id: the generation that is being made, None when not known.
    """
    held: dict[str, list[int]] = {}
    generations: dict[str, int] = {}
    for member in members:
        said = claim(member)
        held[member.member_id] = partitions.indices_of(said.partitions)
        since = said.generation_id
        untrue = since is None or (generation_id is not None and since >= generation_id)
        generations[member.member_id] = NO_GENERATION if since is None or untrue else since
    contested = _claimed_twice(held.values(), len(partitions))
    if not contested:
        return SettledClaims(held, {})
    newest: dict[int, tuple[int, set[str]]] = {}
    for who, generation in generations.items():
        for index in contested.intersection(held[who]):
            known, claimants = newest.get(index, (generation, set()))
            if generation > known:
                newest[index] = generation, {who}
            elif generation == known:
                newest[index] = known, claimants | {who}
    for who, indices in held.items():
        if not contested.isdisjoint(indices):
            won = [at for at in contested.intersection(indices) if newest[at][1] == {who}]
            held[who] = sorted({*won, *(at for at in indices if at not in contested)})
    disputed = {at: frozenset(who) for at, (_, who) in sorted(newest.items()) if len(who) > 1}
    return SettledClaims(held, disputed)


def _claimed_twice(claimed: Iterable[Sequence[int]], count: int) -> set[int]:
    """Return what is claimed more than once, by several members or by one."""
    seen = bytearray(count)
    twice: set[int] = set()
    for indices in claimed:
        for index in indices:
            if seen[index]:
                twice.add(index)
            seen[index] = 1
    return twice
