"""Batches that no producer writes, laid between sound records of one partition.

`stops` and `passes` are the judges: of what ends a partition until a seek, and of what is no
matter.
"""

import struct
from typing import Any, Final

from kgroup.errors import DecodeError
from kgroup.testing import InProcessBroker
from kgroup.wire.compression import Codec
from kgroup.wire.messages import FetchRequest
from kgroup.wire.records import BatchHeader, NewRecord, encode_batch
from kgroup.wire.records.encode import encode_record, seal
from tests.bad_input.stage import A, B, Play, check_pace, cluster, playing

AT: Final = 1
"""Offset of what is bad."""

HEADER: Final = ">qiibIhiqqqhii"
TRANSACTIONAL, CONTROL = 1 << 4, 1 << 5


def batch(*values: bytes, at: int = AT, codec: Codec = Codec.NONE, **figures: int) -> bytes:
    """Return a batch with some figures of its header changed and a right checksum."""
    data = encode_batch([NewRecord(None, value) for value in values or (b"v",)], codec=codec)
    header = BatchHeader._make(struct.unpack_from(HEADER, data))
    return seal(header._replace(base_offset=at, **figures), data[61:])


def with_length(length: int) -> bytes:
    data = bytearray(batch())
    struct.pack_into(">i", data, 8, length)
    return bytes(data)


def with_byte(at: int, value: int) -> bytes:
    data = bytearray(batch())
    data[at] = value
    return bytes(data)


def of_records(*offset_deltas: int) -> bytes:
    """Return a batch whose records say these offsets."""
    body = b"".join(
        encode_record(NewRecord(None, b"v"), offset_delta=delta, timestamp_delta=0)
        for delta in offset_deltas
    )
    count = len(offset_deltas)
    return seal(BatchHeader(base_offset=AT, last_offset_delta=count - 1, record_count=count), body)


def packed(codec: Codec, body: bytes) -> bytes:
    """Return a batch with a body that says to be compressed, and a right checksum."""
    return seal(BatchHeader(base_offset=AT, attributes=codec.value, record_count=1), body)


def laid(data: bytes, *, offsets: int = 1) -> InProcessBroker:
    """Return brokers with these bytes in A, behind one sound record and before another one."""
    broker = cluster(records=0)
    broker.partition(*A).append(b"good")
    broker.partition(*A).append_raw(data, offsets=offsets)
    broker.partition(*A).append(b"behind")
    broker.partition(*B).append(b"0")
    return broker


async def stops(data: bytes, *, words: str, offsets: int = 1, **options: Any) -> type[Exception]:
    """Check that a partition stops at what is bad, that nothing else does, and the way out."""
    broker = laid(data, offsets=offsets)
    async with playing(broker, **options) as play:
        await play.read_for(6.0)
        broker.partition(*B).append(b"1")
        await play.read_for(6.0)
        check_pace(play, 0.0)
        assert play.read == {A: [0], B: [0, 1]}
        assert len(play.errors) >= 2
        for error in play.errors:
            assert isinstance(error, DecodeError)
            for word in (f"{A}", words, "seek past it"):
                assert word in str(error)
        assert await play.consumer.position(A) == AT
        await play.consumer.commit()
        assert play.committed() == {A: AT, B: 2}
        play.consumer.seek(A, AT + offsets)
        await play.read_for(2.0)
        assert play.read[A] == [0, AT + offsets]
    return type(play.errors[-1])


async def passes(broker: InProcessBroker, *offsets: int, **options: Any) -> None:
    """Check that exactly these offsets of A are handed out, without a word, and committed."""
    async with playing(broker, **options) as play:
        await play.read_for(3.0)
        assert play.errors == []
        assert play.read[A] == list(offsets)
        await play.consumer.commit()
        assert play.committed()[A] == broker.partition(*A).end


def asked_at(play: Play, offset: int) -> int:
    """Count the questions for A at an offset."""
    return sum(
        (each.partition, each.fetch_offset) == (A.partition, offset)
        for request in play.broker.requests_of(FetchRequest)
        for topic in request.topics
        for each in topic.partitions
    )
