"""Records in aiokafka's shape.

Decides: which field of ours stands in which of theirs; that the sizes of key and value are those
of the bytes as they came (-1 for a null), whatever a deserialiser makes of them.
Never: keeps a batch. Loses the records in front of one that a deserialiser refused.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, NamedTuple

from aiokafka.structs import ConsumerRecord

from kgroup import Batch, DeserializationError, Record, raw
from kgroup.values import dataclass

__all__ = ["Deserializers", "Sized", "listed", "listed_raw", "one", "sizing"]

_NULL_SIZE: Final = -1
_NO_TYPE: Final = -1


class Sized(NamedTuple):
    """What a deserialiser made, and of how many bytes."""

    size: int
    made: object


@dataclass(frozen=True, slots=True)
class Deserializers:
    """What `kgroup.Consumer` is given as `key` and `value`: `raw`, or made by `sizing`."""

    key: Callable[[bytes | None], Any]
    value: Callable[[bytes | None], Any]

    @property
    def are_raw(self) -> bool:
        """Whether both leave bytes as they are."""
        return self.key is raw and self.value is raw


def sizing(deserializer: object) -> Callable[[bytes | None], Any]:
    """Return a deserialiser that remembers the size of what it was given.

    Args:
        deserializer: of aiokafka's kind: called with bytes, or None for a null; anything false
            for bytes as they are.
    """
    if not deserializer:
        return raw
    make: Any = deserializer

    def sized(data: bytes | None) -> Sized:
        return Sized(_NULL_SIZE if data is None else len(data), make(data))

    return sized


def one(record: Record[Any, Any]) -> ConsumerRecord[Any, Any]:
    """Return a record in aiokafka's shape.

    Args:
        record: made with the deserialisers of `sizing`.
    """
    key_size, key = _apart(record.key)
    value_size, value = _apart(record.value)
    kind = record.timestamp_type.value
    # Brokers before 0.10 wrote neither (magic 0); aiokafka has None for both.
    timed = kind != _NO_TYPE
    return ConsumerRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp if timed else None,
        kind if timed else None,
        key,
        value,
        None,
        key_size,
        value_size,
        record.headers,
    )


_FIELDS: Final = tuple(each.name for each in fields(ConsumerRecord))
_TIMED: Final = (ConsumerRecord, "==ot=kv=KVh", _FIELDS)
_UNTIMED: Final = (ConsumerRecord, "==o==kv=KVh", _FIELDS)


def listed_raw(batch: Batch[Any, Any]) -> list[ConsumerRecord[Any, Any]]:
    """Return the records of a batch that no deserialiser is to see, made past ours."""
    found: list[ConsumerRecord[Any, Any]] = []
    for segment in batch.columns():
        kind = segment.timestamp_type.value
        shape, times = (_TIMED, (kind,)) if kind != _NO_TYPE else (_UNTIMED, (None, None))
        constants = (*batch.partition, *times, None)
        found += segment.columns.records(shape, constants, segment.start, segment.stop)
    return found


def listed(batch: Batch[Any, Any]) -> list[ConsumerRecord[Any, Any]]:
    """Return the records of a batch in aiokafka's shape.

    A record that a deserialiser refuses ends the list; the batch ends there too, so the next read
    meets that record first, and raises.

    Raises:
        DeserializationError: the first record was refused.
    """
    found: list[ConsumerRecord[Any, Any]] = []
    try:
        for record in batch:
            found.append(one(record))  # noqa: PERF401 - what was made before an error is kept
    except DeserializationError:
        if not found:
            raise
    return found


def _apart(made: object) -> tuple[int, object]:
    """Return size and object; bytes that no deserialiser has seen are measured here."""
    if type(made) is Sized:
        return made
    return (_NULL_SIZE if made is None else len(made)), made  # type: ignore[arg-type]  # raw: bytes
