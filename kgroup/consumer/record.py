"""One record as the application sees it, and how bytes become keys and values.

Decides: the shape of a record; that a deserialiser's error names the record it failed on.
Never: copies what is not asked for: a batch makes records only while it is iterated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kgroup.errors import ArgumentError
from kgroup.types import TopicPartition
from kgroup.wire.records import Headers, Row, TimestampType

__all__ = ["Deserializer", "Formats", "Record", "raw"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Deserializer = Callable[[bytes | None], T]
"""Bytes, None for a null, to what the application wants."""


def raw(data: bytes | None) -> bytes | None:
    """Leave bytes as they are: the deserialiser when none is given."""
    return data


@dataclass(slots=True)
class Record(Generic[K, V]):
    """One record; yours to keep and to change.

    Args:
        topic: name of the topic.
        partition: number of the partition.
        offset: place in the partition.
        timestamp: milliseconds since the epoch, -1 when the record has none.
        timestamp_type: whether the producer or the broker set it.
        key: deserialised key.
        value: deserialised value.
        headers: name and value of each, in order; a name may occur again.
        leader_epoch: epoch of the leader that took it, None when not known (KIP-101).
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: K
    value: V
    headers: Headers = ()
    leader_epoch: int | None = None

    @property
    def tp(self) -> TopicPartition:
        """Topic and partition together."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Formats(Generic[K, V]):
    """The two deserialisers of a consumer.

    Raises:
        ArgumentError: one of them cannot be called.
    """

    key: Deserializer[K]
    value: Deserializer[V]

    def __post_init__(self) -> None:
        for name, given in (("key", self.key), ("value", self.value)):
            if not callable(given):
                raise ArgumentError(name, given, "a function of bytes, None for a null")

    def record(
        self, tp: TopicPartition, row: Row, kind: TimestampType, leader_epoch: int | None
    ) -> Record[K, V]:
        """Make one record; an error of a deserialiser goes to the caller with a note."""
        offset, timestamp, key, value, headers = row
        try:
            made_key, made_value = self.key(key), self.value(value)
        except Exception as error:
            error.add_note(f"while deserialising the record at offset {offset} of {tp}")
            raise
        return Record(
            tp.topic,
            tp.partition,
            offset,
            timestamp,
            kind,
            made_key,
            made_value,
            headers,
            leader_epoch,
        )
