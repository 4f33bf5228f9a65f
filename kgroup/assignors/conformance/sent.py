"""A group as its leader reads it off the wire.

Decides: nothing; the codec does.
Never: changes what a group says.
"""

from dataclasses import replace

from kgroup.assignors.group import GroupSubscription
from kgroup.assignors.member import Member
from kgroup.wire.consumer_protocol import (
    MemberSubscription,
    decode_subscription,
    encode_subscription,
)

__all__ = ["as_sent"]


def as_sent(group: GroupSubscription) -> GroupSubscription:
    """Return the group with every member's subscription written and read once.

    What comes off the wire is equal, but its claims are a sequence of another type, sorted.
    """
    return GroupSubscription(tuple(map(_member, group.members)), group.topics, group.now)


def _member(member: Member) -> Member:
    if member.unreadable is not None:
        return member
    written = encode_subscription(
        MemberSubscription(
            topics=tuple(member.topics),
            owned=member.owned,
            generation_id=member.generation_id,
            rack=member.rack,
            user_data=member.user_data,
        ),
        member.version,
    )
    read = decode_subscription(written)
    return replace(
        member,
        topics=frozenset(read.topics),
        owned=read.owned,
        generation_id=read.generation_id,
        user_data=read.user_data,
    )
