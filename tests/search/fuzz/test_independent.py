"""Whatever else reads Kafka's bytes in Python reads what we read, where it can read it at all."""

from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords

from kgroup.codes import ApiKey
from kgroup.types import TopicPartition
from kgroup.wire.compression import Codec, compress, decompress
from kgroup.wire.consumer_protocol import decode_assignment, decode_subscription
from kgroup.wire.frames import request_class
from kgroup.wire.records import BatchView, iter_batches
from kgroup.wire.schema import Message, decode, encode
from tests.search.fuzz.drawn import drawn
from tests.search.fuzz.kafka_python import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    MemoryRecords,
    class_of,
    codec,
    differences,
    speaks,
)
from tests.search.fuzz.messages import keys
from tests.search.fuzz.recorded import lines, of_java, record_data

# kafka-python 3.0 fails on tagged fields inside the rows of these.
TAGS_FAIL = ("FetchRequest", "FetchResponse", "ProduceResponse")


def written() -> Iterator[tuple[type[Message], int, bytes]]:
    """What Java wrote, and what the strategies draw."""
    for key, version, is_request, body in of_java():
        request = request_class(ApiKey(key))
        yield (request if is_request else request.RESPONSE), version, body
    for kind in ("request", "response"):
        for _, version, message in drawn(kind):
            yield type(message), version, encode(message, version)


def theirs_of(cls: Any, version: int, body: bytes) -> Any:
    """Return their reading, None when they are known not to manage."""
    try:
        return class_of(cls).decode(body, version=version)
    except AssertionError:
        assert cls.__name__ in TAGS_FAIL
        return None


@pytest.mark.slow
def test_kafka_python_reads_the_same_in_messages() -> None:
    compared: set[type[Message]] = set()
    for cls, version, body in written():
        theirs = theirs_of(cls, version, body) if speaks(cls, version) else None
        if theirs is None:
            continue
        found = list(differences(decode(cls, version, body), theirs, version))
        assert not found, f"{cls.__name__} v{version} {body.hex()}: {found[:3]}"
        compared.add(cls)
    assert len(compared) > 1.8 * (len(keys()) - 4), "nearly all requests and responses"


def their_rows(records: Any) -> Iterator[tuple[Any, ...]]:
    while records.has_next():
        batch = records.next_batch()
        yield from ((r.offset, r.key, r.value, tuple(r.headers)) for r in batch)


def our_rows(data: bytes) -> Iterator[tuple[Any, ...]]:
    for batch in iter_batches(data):
        for offset, _, key, value, headers in batch.columns():
            yield offset, key, value, headers


@pytest.mark.slow
@pytest.mark.parametrize("others", [MemoryRecords, AiokafkaRecords], ids=["kafka", "aiokafka"])
def test_others_read_the_same_records(others: Any) -> None:
    compared = 0
    for data in record_data():
        try:
            ours = list(our_rows(data))
            theirs = list(their_rows(others(data)))
        except Exception:  # noqa: BLE001 - damaged on purpose, or of a kind they do not know
            continue
        assert ours == theirs
        compared += 1
    assert compared > 100


# For the other two codecs the library of others is the one that is used here.
@pytest.mark.parametrize(
    ("kind", "undo"), [(Codec.GZIP, codec.gzip_decode), (Codec.LZ4, codec.lz4_decode)],
    ids=["gzip", "lz4"],
)  # fmt: skip
def test_kafka_python_inflates_the_same(kind: Codec, undo: Any) -> None:
    packed = [
        bytes(batch.data[61:])
        for data in record_data()
        for batch in iter_batches(data)
        if isinstance(batch, BatchView) and batch.codec is kind and batch.count
    ]
    packed += [compress(kind, text) for text in (b"a", b"kgroup" * 999, bytes(70_000))]
    assert len(packed) > 3
    for one in packed:
        assert undo(one) == decompress(kind, one)


def test_aiokafka_reads_the_same_subscriptions_and_assignments() -> None:
    for data in lines("consumer_protocol/subscription", "hex"):
        ours, theirs = decode_subscription(data), ConsumerProtocolMemberMetadata.decode(data)
        assert list(ours.topics) == theirs.subscription
        assert (ours.user_data or b"") == (theirs.user_data or b"")
    for data in lines("consumer_protocol/assignment", "hex"):
        assigned, other = decode_assignment(data), ConsumerProtocolMemberAssignment.decode(data)
        assert list(assigned.partitions) == [TopicPartition(*tp) for tp in other.partitions()]


def test_kafka_python_reads_the_same_subscriptions_and_assignments() -> None:
    for data in lines("consumer_protocol/subscription", "hex"):
        ours, theirs = decode_subscription(data), ConsumerProtocolSubscription.decode(data)
        assert list(ours.topics) == theirs.topics
        assert ours.user_data == theirs.user_data
    for data in lines("consumer_protocol/assignment", "hex"):
        assigned, other = decode_assignment(data), ConsumerProtocolAssignment.decode(data)
        assert list(assigned.partitions) == [TopicPartition(*tp) for tp in other.partitions()]
        assert assigned.user_data == other.user_data
