"""What one fetch asks of each partition.

Decides: which partition a row of a request means, under a name or an id.
Never: knows whether it exists, or whether this broker has it.

KIP-516: from version 13 on a topic is its id, and the name is what the broker knows it by at that
time; a partition of a session keeps the first name its id was known by.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kgroup.wire.messages import FetchPartition, FetchRequest
from kgroup.wire.vocabulary import ZERO_UUID

__all__ = ["BY_ID_SINCE", "NameOf", "Place", "Wanted", "forgotten_in", "wanted_in"]

BY_ID_SINCE = 13
"""First version in which topics are named by their ids."""

NameOf = Callable[[bytes], str | None]
"""Says how a topic is called now, None for an id that no topic has."""


class Place(NamedTuple):
    """What makes a partition the same in two requests.

    Args:
        topic: its id from version 13 on, its name before.
        partition: its number.
    """

    topic: bytes | str
    partition: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """One partition of a fetch.

    Args:
        name: of its topic, None when no topic has the id.
        topic_id: 16 bytes, zero before version 13.
        row: offset, limits and epochs.
    """

    name: str | None
    topic_id: bytes
    row: FetchPartition


def wanted_in(request: FetchRequest, version: int, name_of: NameOf) -> dict[Place, Wanted]:
    """Return what a request asks for, in its order; of a partition named twice the last row."""
    wanted: dict[Place, Wanted] = {}
    for topic in request.topics:
        key, name, topic_id = _topic(topic.topic, topic.topic_id, version, name_of)
        for row in topic.partitions:
            wanted[Place(key, row.partition)] = Wanted(name, topic_id, row)
    return wanted


def forgotten_in(request: FetchRequest, version: int) -> list[Place]:
    """Return what leaves the session with a request."""
    by_id = version >= BY_ID_SINCE
    return [
        Place(topic.topic_id if by_id else topic.topic, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]


def _topic(
    name: str, topic_id: bytes, version: int, name_of: NameOf
) -> tuple[bytes | str, str | None, bytes]:
    if version >= BY_ID_SINCE:
        return topic_id, name_of(topic_id), topic_id
    return name, name, ZERO_UUID
