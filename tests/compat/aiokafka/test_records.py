"""Records and batches in aiokafka's shape."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from aiokafka.structs import ConsumerRecord

from kgroup import Consumer, Record
from kgroup.compat.aiokafka.options import read
from kgroup.compat.aiokafka.records import listed, one
from kgroup.errors import DeserializationError
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.wire.records import NewRecord, TimestampType, encode_batch
from tests.consumer.entered import A, config_for
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, Any]]:
    return virtual_backend(request.param)


def record(**fields: Any) -> Record[Any, Any]:
    values = {"key": b"k", "value": b"value", "headers": (("h", b"17"),), **fields}
    return Record("t", 1, 42, 1_700_000_000_000, TimestampType.CREATE_TIME, **values)


def reading(shelf: Shelf, **keywords: Any) -> Consumer[Any, Any]:
    """Return a consumer of t-0 with the facade's deserialisers; not entered."""
    made = read(keywords).deserializers
    return Consumer(config=config_for(shelf), key=made.key, value=made.value)


def shelf_with(*records: NewRecord) -> Shelf:
    shelf = Shelf(t=1)
    shelf.logs[A].put(encode_batch(list(records)), len(records))
    return shelf


async def the_list(consumer: Consumer[Any, Any]) -> list[Any]:
    found = await consumer.getmany(timeout=1)
    records = listed(found[A])
    found[A].done()
    return records


async def the_one(consumer: Consumer[Any, Any]) -> list[Any]:
    return [one(await consumer.getone(timeout=1))]


BOTH_WAYS = pytest.mark.parametrize("way", [the_list, the_one])
Way = Callable[[Consumer[Any, Any]], Awaitable[list[Any]]]


# -- the shape ---------------------------------------------------------------------------------


def test_a_record_has_aiokafkas_fields() -> None:
    expected: ConsumerRecord[Any, Any] = ConsumerRecord(
        topic="t",
        partition=1,
        offset=42,
        timestamp=1_700_000_000_000,
        timestamp_type=0,
        key=b"k",
        value=b"value",
        checksum=None,
        serialized_key_size=1,
        serialized_value_size=5,
        headers=(("h", b"17"),),
    )
    assert one(record()) == expected


def test_a_null_has_the_size_minus_one_and_nothing_has_zero() -> None:
    made = one(record(key=None, value=b""))
    assert (made.key, made.serialized_key_size) == (None, -1)
    assert (made.value, made.serialized_value_size) == (b"", 0)


def test_no_headers_are_an_empty_tuple() -> None:
    assert one(record(headers=())).headers == ()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TimestampType.CREATE_TIME, (1_700_000_000_000, 0)),
        (TimestampType.LOG_APPEND_TIME, (1_700_000_000_000, 1)),
        (TimestampType.NO_TIMESTAMP_TYPE, (None, None)),
    ],
)
def test_the_timestamp_type_tells_client_and_broker_apart(
    kind: TimestampType, expected: object
) -> None:
    made = record()
    made.timestamp_type = kind
    found = one(made)
    assert (found.timestamp, found.timestamp_type) == expected


# -- deserialisers -----------------------------------------------------------------------------


@BOTH_WAYS
async def test_sizes_are_those_of_the_bytes_whatever_is_made_of_them(way: Way) -> None:
    shelf = shelf_with(NewRecord(b"12", b'{"a": 1}', headers=(("h", b"1"), ("h", None))))
    async with reading(shelf, key_deserializer=int, value_deserializer=json.loads) as consumer:
        consumer.assign([A])
        (found,) = await way(consumer)
    assert (found.key, found.serialized_key_size) == (12, 2)
    assert (found.value, found.serialized_value_size) == ({"a": 1}, 8)
    assert found.headers == (("h", b"1"), ("h", None))
    assert (found.topic, found.partition, found.offset) == ("t", 0, 0)


@BOTH_WAYS
async def test_a_deserialiser_is_called_for_a_null_too(way: Way) -> None:
    shelf = shelf_with(NewRecord(None, None))
    async with reading(shelf, value_deserializer=lambda data: f"<{data}>") as consumer:
        consumer.assign([A])
        (found,) = await way(consumer)
    assert (found.key, found.value) == (None, "<None>")
    assert (found.serialized_key_size, found.serialized_value_size) == (-1, -1)


async def test_a_tuple_that_a_deserialiser_makes_stays_one() -> None:
    shelf = shelf_with(NewRecord(b"k", b"v"))
    async with reading(shelf, value_deserializer=lambda data: (7, data)) as consumer:
        consumer.assign([A])
        (found,) = await the_list(consumer)
    assert (found.value, found.serialized_value_size) == ((7, b"v"), 1)


async def test_what_stands_before_a_record_that_is_refused_is_delivered_first() -> None:
    shelf = shelf_with(*(NewRecord(None, value) for value in (b"1", b"2", b"three", b"4")))
    async with reading(shelf, value_deserializer=int) as consumer:
        consumer.assign([A])
        assert [each.value for each in await the_list(consumer)] == [1, 2]
        for _ in range(2):
            with pytest.raises(DeserializationError, match="offset 2"):
                await the_list(consumer)
        consumer.seek(A, 3)
        assert [each.value for each in await the_list(consumer)] == [4]
