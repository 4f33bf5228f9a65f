"""The rows of requests about offsets, from mappings of (topic, number).

Decides: nothing; `ids` name the topics where a request names them by id.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kgroup.wire.messages import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

Offsets: TypeAlias = Mapping[tuple[str, int], int]
Codes: TypeAlias = dict[tuple[str, int], int]
Ids: TypeAlias = Mapping[str, bytes]

UNKNOWN_ID = b"\1" * 16


def offsets_of(answer: OffsetFetchResponse) -> dict[tuple[str, int], tuple[int, int]]:
    """Return (offset, error) of each partition, of the first group in newer versions."""
    topics: Sequence[Any] = answer.groups[0].topics if answer.groups else answer.topics
    return {
        (topic.name, each.partition_index): (each.committed_offset, each.error_code)
        for topic in topics
        for each in topic.partitions
    }


def _by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


def _named(name: str, ids: Ids | None) -> dict[str, Any]:
    return {"name": name} if ids is None else {"topic_id": ids.get(name, UNKNOWN_ID)}


def commit_rows(
    offsets: Offsets, ids: Ids | None, *, leader_epoch: int = -1, metadata: str | None = "m"
) -> tuple[OffsetCommitRequestTopic, ...]:
    """Build the topics of OffsetCommit; ids None = by name."""
    return tuple(
        OffsetCommitRequestTopic(
            **_named(name, ids),
            partitions=tuple(
                OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=offsets[name, number],
                    committed_leader_epoch=leader_epoch,
                    committed_metadata=metadata,
                )
                for number in numbers
            ),
        )
        for name, numbers in _by_topic(offsets).items()
    )


def txn_rows(offsets: Offsets, *, metadata: str = "x") -> tuple[TxnOffsetCommitRequestTopic, ...]:
    """Build the topics of TxnOffsetCommit."""
    return tuple(
        TxnOffsetCommitRequestTopic(
            name=name,
            partitions=tuple(
                TxnOffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=offsets[name, number],
                    committed_metadata=metadata,
                )
                for number in numbers
            ),
        )
        for name, numbers in _by_topic(offsets).items()
    )


def old_fetch_rows(
    partitions: Iterable[tuple[str, int]],
) -> tuple[OffsetFetchRequestTopic, ...] | None:
    """Build the topics of OffsetFetch 1 to 7; none = all."""
    topics = _by_topic(partitions).items()
    rows = [OffsetFetchRequestTopic(name=name, partition_indexes=(*each,)) for name, each in topics]
    return tuple(rows) or None


def fetch_rows(
    partitions: Iterable[tuple[str, int]], ids: Ids | None
) -> tuple[OffsetFetchRequestTopics, ...] | None:
    """Build the topics of a group of OffsetFetch 8 and up; none = all, ids None = by name."""
    rows = [
        OffsetFetchRequestTopics(**_named(name, ids), partition_indexes=(*numbers,))
        for name, numbers in _by_topic(partitions).items()
    ]
    return tuple(rows) or None


def delete_rows(partitions: Iterable[tuple[str, int]]) -> tuple[OffsetDeleteRequestTopic, ...]:
    """Build the topics of OffsetDelete."""
    return tuple(
        OffsetDeleteRequestTopic(
            name=name,
            partitions=tuple(
                OffsetDeleteRequestPartition(partition_index=number) for number in numbers
            ),
        )
        for name, numbers in _by_topic(partitions).items()
    )
