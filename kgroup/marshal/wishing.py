"""What a member wants of the log at a moment: which keys, and whether it may want any.

Decides: what of the subscription is to be claimed and kept now.
Never: how much of it (`shares`), or whether it is free (`member`).
"""

from typing import Final

from kgroup.marshal.key_rows import KeyPhase
from kgroup.marshal.member import MarshalMember
from kgroup.types import TopicPartition

FRESH: Final = 15.0
"""Seconds for which a member relies on what was read of a log for a claim. The reader reports at
least every five seconds, even if there is nothing new."""


def is_wanted(member: MarshalMember, tp: TopicPartition, now: float) -> bool:
    """Tell whether a partition is to be claimed, or kept."""
    wishes = member.wishes
    gone = wishes.closing is not None or member.failure is not None or member.dormant
    if gone or tp.topic in member.forfeited:
        return False
    if wishes.partitions is not None:
        asked = tp in wishes.partitions
    else:
        asked = wishes.topics is not None and tp.topic in wishes.topics
    if not asked or tp.partition >= member.counts.get(tp.topic, 0):
        return False
    if not _has_lock(member, tp):
        return False
    return not is_paused(member, tp.topic, now)


def wanted_partitions(member: MarshalMember, now: float) -> frozenset[TopicPartition]:
    """Return all that is to be claimed, or kept."""
    wishes = member.wishes
    if wishes.partitions is not None:
        asked = wishes.partitions
    else:
        topics = wishes.topics or frozenset()
        asked = frozenset(
            TopicPartition(topic, number)
            for topic in topics
            for number in range(member.counts.get(topic, 0))
        )
    return frozenset(tp for tp in asked if is_wanted(member, tp, now))


def is_paused(member: MarshalMember, topic: str, now: float) -> bool:
    """Tell whether the group is paused, as far as the log of a topic says."""
    return pause_ends_at(member, topic) > now


def pause_ends_at(member: MarshalMember, topic: str) -> float:
    """Return the instant at which the pause of the group is over, 0 when there is none."""
    log = member.log_of(topic)
    if log is None or log.pause is None or log.pause.client_id == member.who[0]:
        return 0.0
    return log.instant_of(log.pause.until)


def _has_lock(member: MarshalMember, tp: TopicPartition) -> bool:
    """Tell whether a topic that is had whole may be had: the owner of partition 0 has it."""
    if not member.settings.whole_topics or tp.partition == 0:
        return True
    lock = member.life(TopicPartition(tp.topic, 0))
    # Also while it is claimed anew for the sake of a lower position.
    return lock.claim is not None or lock.phase is KeyPhase.OWNED
