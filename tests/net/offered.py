"""Groups as a coordinator describes them, made up for tests of what is known of their lists."""

from collections.abc import Sequence
from typing import Any

from kgroup.net.group_description import GroupDescription, GroupMember, GroupType
from kgroup.types import TopicPartition
from kgroup.wire.consumer_protocol import MemberSubscription

COOPERATIVE = "cooperative-sticky"
TPS = tuple(TopicPartition("orders", number) for number in range(8))


def said(kept: int = 0, *, generation_id: int | None = 7, **more: Any) -> MemberSubscription:
    """Return the subscription of a member that kept so many partitions over the last round."""
    fields = {"topics": ("orders",), "owned": TPS[:kept], "generation_id": generation_id}
    return MemberSubscription(**{**fields, **more})


def member(
    name: str,
    subscription: MemberSubscription | None = None,
    *,
    owns: int = 2,
    instance: str | None = None,
) -> GroupMember:
    """Return a member of a group that is described."""
    return GroupMember(
        member_id=name,
        group_instance_id=instance,
        client_id=f"client-{name}",
        client_host="/h",
        topics=None if subscription is None else subscription.topics,
        partitions=TPS[:owns],
        subscription=subscription,
    )


def group_of(
    members: Sequence[GroupMember],
    assignor: str | None = "range",
    *,
    state: str = "Stable",
    group_type: GroupType = GroupType.CLASSIC,
    protocol_type: str | None = "consumer",
) -> GroupDescription:
    """Return a group that is described."""
    return GroupDescription(
        "billing", group_type, state, protocol_type, assignor, tuple(members), coordinator=1
    )
