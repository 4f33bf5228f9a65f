"""Records in kafka-python's shape.

Decides: which field of ours stands in which of theirs; that sizes are those of the bytes as they
came; that a deserialiser is an object with `deserialize(topic, headers, data)` or a function.
Never: passes over a record that a deserialiser refused.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from kafka.consumer.fetcher import ConsumerRecord
from kafka.serializer import Deserializer

from kgroup.consumer import Record
from kgroup.sync import Batch

__all__ = ["Make", "listed_raw", "maker"]

_NONE: Final = -1
"""The size of a null, of no headers; an epoch that is not known."""

Bytes: TypeAlias = bytes | None
_Headers: TypeAlias = list[tuple[str, Bytes]]
_Deserialize: TypeAlias = Callable[[str, _Headers, Bytes], Any]

Make: TypeAlias = Callable[[Record[Bytes, Bytes]], Any]
"""Makes kafka-python's record of ours."""


def maker(key: object, value: object) -> Make:
    """Return what makes records.

    Args:
        key: kafka-python's `key_deserializer`.
        value: its `value_deserializer`.
    """
    of_key, of_value = _deserialize(key), _deserialize(value)

    def make(record: Record[Bytes, Bytes]) -> ConsumerRecord:
        headers: _Headers = list(record.headers)
        key, value, epoch = record.key, record.value, record.leader_epoch
        return ConsumerRecord(
            record.topic,
            record.partition,
            _NONE if epoch is None else epoch,
            record.offset,
            record.timestamp,
            record.timestamp_type.value,
            key if of_key is None else of_key(record.topic, headers, key),
            value if of_value is None else of_value(record.topic, headers, value),
            headers,
            None,
            _NONE if key is None else len(key),
            _NONE if value is None else len(value),
            sum(map(_size, headers)) if headers else _NONE,
        )

    return make


_SHAPE: Final = (ConsumerRecord, "===ot=kvl=KVS", ConsumerRecord._fields)


def listed_raw(batch: Batch[Bytes, Bytes]) -> list[ConsumerRecord]:
    """Return the records of a batch that no deserialiser is to see, made past ours."""
    found: list[ConsumerRecord] = []
    for segment in batch.columns():
        epoch = _NONE if segment.leader_epoch is None else segment.leader_epoch
        constants = (*batch.partition, epoch, segment.timestamp_type.value, None)
        found += segment.columns.records(_SHAPE, constants, segment.start, segment.stop)
    return found


def _deserialize(given: Any) -> _Deserialize | None:  # noqa: ANN401 - the application's
    if given is None:
        return None
    if isinstance(given, Deserializer) or hasattr(given, "deserialize"):
        found: _Deserialize = given.deserialize
        return found
    return lambda _topic, _headers, data: given(data)


def _size(header: tuple[str, Bytes]) -> int:
    name, data = header
    return len(name.encode()) + (0 if data is None else len(data))
