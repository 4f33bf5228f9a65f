"""Static members of a group: a leader and a follower, and how they end and settle."""

from kgroup.types import Leave, Subscription
from tests.consumer.scene import Member, Scene, settings
from tests.contracts.application import until

__all__ = ["METADATA_AGE", "both", "ended", "settled", "twins"]

METADATA_AGE = 400.0
"""Longer than any member takes to notice new partitions."""


def both(*topics: str) -> Subscription:
    return Subscription(topics=frozenset(topics))


async def twins(on: Scene, *topics: str) -> tuple[Member, Member]:
    """A static leader `a` and a static follower `b`, both settled."""
    wanted = both(*(topics or ("t",)))
    leader = await on.joined(settings(group_instance_id="a"), subscription=wanted)
    follower = await on.joined(settings(group_instance_id="b"), subscription=wanted)
    await until(lambda: settled(on, leader, follower), 60.0, "both own their share")
    return leader, follower


def settled(on: Scene, *members: Member) -> bool:
    """Tell whether all partitions of all topics are owned, each once, by these members."""
    owned = [tp for member in members for tp in member.application.settled()]
    return (
        len(owned)
        == len(set(owned))
        == sum(
            len(topic.partitions)
            for topic in on.broker.core.cluster.topics.values()
            if not topic.internal
        )
    )


async def ended(member: Member, mode: Leave = Leave.DEFAULT) -> None:
    await member.backend.leave(mode, "restarting", timeout=5.0)
    await member.ends()
