"""What a member says to the coordinator, filled from its value.

Decides: every field of a heartbeat: one that joins, one that lives, one that says farewell.
Never: a version number; the wire leaves out what a broker does not know.
KIPs: 345, 699, 848, 881 (racks), 1092 (whether a member leaves).
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from kgroup.consumer_group.value import ConsumerGroupMember, Place, Said
from kgroup.types import Leave
from kgroup.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatTopicPartitions,
    FindCoordinatorRequest,
)

LEAVES: Final = -1
"""The epoch of a member that goes for good."""
COMES_BACK: Final = -2
"""The epoch of a static member whose place is kept for its session."""


def find_coordinator(member: ConsumerGroupMember) -> FindCoordinatorRequest:
    """Ask any broker which one coordinates the group."""
    return FindCoordinatorRequest(coordinator_keys=(member.settings.group_id,))


def next_said(member: ConsumerGroupMember) -> Said:
    """Return what the next heartbeat says.

    What is owned is listed when all of an assignment was carried out, and not while something is
    still to be revoked: the coordinator could do nothing with less.
    """
    claims = frozenset(member.holdings.claims)
    owned = frozenset(member.place_of(claim) for claim in claims)
    said, topics = member.said, member.wishes.topics
    if topics is None:  # on its way out: the farewell says so
        heard = Said(frozenset()) if said is None else said
        return Said(heard.topics, heard.pattern, owned, claims, lists=said is None)
    changed = said is None or said.owned != owned or member.assigned.owes
    return Said(
        topics=topics,
        pattern=member.wishes.pattern,
        owned=owned,
        claims=claims,
        whole=said is None,
        lists=said is None or (changed and not member.giving_up()),
    )


def heartbeat(member: ConsumerGroupMember, saying: Said) -> ConsumerGroupHeartbeatRequest:
    """Say what a member is, wants and owns; of a part that the coordinator knows, nothing."""
    settings, whole = member.settings, saying.whole
    heard = member.said
    named = not whole and (heard is None or heard.topics == saying.topics)
    matched = not whole and (heard is None or heard.pattern == saying.pattern)
    return ConsumerGroupHeartbeatRequest(
        group_id=settings.group_id,
        member_id=settings.member_id,
        member_epoch=member.identity.epoch,
        instance_id=settings.group_instance_id,
        rack_id=settings.client_rack if whole else None,
        rebalance_timeout_ms=round(settings.rebalance_timeout * 1000) if whole else -1,
        subscribed_topic_names=None if named else tuple(sorted(saying.topics)),
        subscribed_topic_regex=None if matched else saying.pattern,
        server_assignor=settings.server_assignor if whole else None,
        topic_partitions=_rows(saying.owned) if saying.lists else None,
    )


def farewell_epoch(member: ConsumerGroupMember) -> int | None:
    """Return the epoch with which a member goes, None for one that goes without a word.

    A static member's place is kept unless it is to leave (KIP-345): only who says so lets its next
    process in before the session is over. A dynamic one that is to remain says nothing.
    """
    closing = member.wishes.closing
    mode = Leave.DEFAULT if closing is None else closing.mode
    if mode is Leave.LEAVE:
        return LEAVES
    if member.settings.group_instance_id is not None:
        return COMES_BACK
    return None if mode is Leave.REMAIN else LEAVES


def farewell(member: ConsumerGroupMember, epoch: int) -> ConsumerGroupHeartbeatRequest:
    """Say that a member goes."""
    return ConsumerGroupHeartbeatRequest(
        group_id=member.settings.group_id,
        member_id=member.settings.member_id,
        member_epoch=epoch,
        instance_id=member.settings.group_instance_id,
    )


def _rows(places: Iterable[Place]) -> tuple[ConsumerGroupHeartbeatTopicPartitions, ...]:
    numbers: dict[bytes, list[int]] = defaultdict(list)
    for topic_id, number in sorted(places):
        numbers[topic_id].append(number)
    return tuple(
        ConsumerGroupHeartbeatTopicPartitions(topic_id=topic_id, partitions=tuple(found))
        for topic_id, found in numbers.items()
    )
