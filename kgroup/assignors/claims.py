"""Who holds what before an assignment: the claims of members, and which of them are believed.

Decides: per partition the one member whose claim stands, or that nobody's does.
Never: believes a claim for a partition that does not exist, a repeated one, or one that a newer
claim contradicts; counts generations from anything but the claims at hand, because a group that
was deleted and made again starts over.
KIPs: 54 and 341 (sticky user data), 429 (owned partitions), 792 (generation of a subscription).

A zombie tells its claim from one reading:
1. A holds t-0 in generation 5 and is suspended. 2. The group goes on without it; B gets t-0 in
generation 6. 3. A wakes and joins, claiming t-0 of generation 5; B claims it of generation 6.
The newer claim stands. With equal generations nothing can be told, and neither claim stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgroup.assignors.member import Member, TopicsMetadata
from kgroup.errors import DecodeError
from kgroup.types import TopicPartition
from kgroup.wire.user_data import decode_cooperative_user_data, decode_sticky_user_data

__all__ = ["Holdings", "MemberClaim", "cooperative_claim", "settle", "stated_claim", "sticky_claim"]

NO_GENERATION = -1  # older than every generation there is


@dataclass(frozen=True, slots=True)
class MemberClaim:
    """What one member says it holds.

    Args:
        partitions: unchecked.
        generation_id: the generation it was given them in, None when not told.
    """

    partitions: Sequence[TopicPartition] = ()
    generation_id: int | None = None


@dataclass(frozen=True, slots=True)
class Holdings:
    """The claims of a group, settled.

    Args:
        owner: partition -> the member with the newest claim.
        disputed: partition -> the members that claim it in the same, newest generation.
    """

    owner: Mapping[TopicPartition, str]
    disputed: Mapping[TopicPartition, frozenset[str]]

    def may_have(self, partition: TopicPartition, member_id: str) -> bool:
        """Whether nobody else has to hand the partition back before this member may have it."""
        if partition in self.disputed:
            return False
        return self.owner.get(partition, member_id) == member_id


def stated_claim(member: Member) -> MemberClaim:
    """Return the claim in the subscription's own fields."""
    return MemberClaim(member.owned, member.generation_id)


def sticky_claim(member: Member) -> MemberClaim:
    """Return the claim of an eager sticky member: its user data and nothing else.

    The subscription's own list is empty or late: an eager member hands everything back before
    it joins. User data that cannot be read claims nothing.
    """
    if not member.user_data:
        return MemberClaim()
    try:
        read = decode_sticky_user_data(member.user_data)
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


def settle(claims: Mapping[str, MemberClaim], topics: TopicsMetadata) -> Holdings:
    """Decide whose claims stand.

    Args:
        claims: member id -> its claim; the order does not matter.
        topics: what exists; other claims are ignored.
    """
    owner: dict[TopicPartition, str] = {}
    newest: dict[TopicPartition, int] = {}
    disputed: dict[TopicPartition, set[str]] = {}
    for member_id, claim in claims.items():
        generation = NO_GENERATION if claim.generation_id is None else claim.generation_id
        for tp in claim.partitions:
            known = topics.get(tp.topic)
            if known is None or tp.partition not in known:
                continue
            rival = newest.get(tp)
            if rival is None or generation > rival:
                owner[tp] = member_id
                newest[tp] = generation
                disputed.pop(tp, None)
            elif generation == rival and owner[tp] != member_id:
                disputed.setdefault(tp, {owner[tp]}).add(member_id)
    for tp in disputed:
        del owner[tp]
    return Holdings(owner, {tp: frozenset(members) for tp, members in disputed.items()})
