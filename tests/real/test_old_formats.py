"""Records from before Kafka 0.11, in a log on a broker's disk, served as they are.

Kafka 3.9.1 stores what Produce v0 and v2 bring as magic 2, whatever `message.format.version` says,
and 4.3.1 hangs up on them. So the segment is put into the folder of the log while the broker is
down; it is read back by librdkafka as well.
"""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message, Producer
from confluent_kafka import Consumer as Librdkafka
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from kgroup.consumer import Consumer
from kgroup.errors import UnsupportedError
from kgroup.testing.kafka import create_topic
from kgroup.testing.kafka.local import LocalKafka, start_local
from kgroup.testing.kafka.supply import find_program
from kgroup.types import TopicPartition
from kgroup.wire.compression import Codec, compress
from tests.real.ground import fresh
from tests.wire.records.old_messages import LOG_APPEND_TIME, message

pytestmark = pytest.mark.real

CREATED_AT = 1_300_000_000_000
APPENDED_AT = 1_400_000_000_000

Seen = tuple[int | None, int, bytes | None, bytes | None]
"""Offset, timestamp, key, value."""


def plain(magic: int, *offsets: int) -> bytes:
    """Messages as a broker of that time stored them."""
    return b"".join(
        message(magic, offset, b"key", b"%d" % offset, timestamp=CREATED_AT + offset)
        for offset in offsets
    )


def packed(magic: int, codec: Codec, *offsets: int, appended: bool = False) -> bytes:
    """A compressed message, likewise."""
    base = offsets[0] if magic else 0
    inside = b"".join(
        message(magic, offset - base, b"key", b"%d" % offset, timestamp=CREATED_AT + offset)
        for offset in offsets
    )
    value = compress(codec, inside)
    if codec is Codec.LZ4 and not magic:
        # KIP-57: writers of magic 0 had the checksum of the frame's header wrong.
        value = value[:6] + bytes([value[6] ^ 1]) + value[7:]
    return message(
        magic,
        offsets[-1],
        None,
        value,
        attributes=codec.value | (LOG_APPEND_TIME if appended else 0),
        timestamp=APPENDED_AT if appended else CREATED_AT + offsets[-1],
    )


SEGMENT = (
    plain(0, 0, 1)
    + packed(0, Codec.GZIP, 2, 3)
    + packed(0, Codec.SNAPPY, 4, 6)
    + packed(0, Codec.LZ4, 7, 8)
    + plain(1, 9, 10)
    + packed(1, Codec.GZIP, 11, 12, 15)
    + packed(1, Codec.SNAPPY, 16, 17)
    + packed(1, Codec.LZ4, 18, 19, appended=True)
)
OFFSETS = [*range(5), *range(6, 13), *range(15, 20)]
EXPECTED: list[Seen] = [
    (
        offset,
        -1 if offset < 9 else APPENDED_AT if offset >= 18 else CREATED_AT + offset,
        b"key",
        b"%d" % offset,
    )
    for offset in OFFSETS
]


@pytest.fixture(scope="module", params=["3.9.1", "4.3.1"])
def broker(request: pytest.FixtureRequest) -> Iterator[LocalKafka]:
    """One node of each version, whose disk can be got at."""
    try:
        program = find_program(request.param)
    except UnsupportedError as error:
        pytest.skip(f"a broker of this machine is needed: {error}")
    found = start_local(program, request.param, 1)
    yield found
    found.close()


def put_segment(broker: LocalKafka, topic: str) -> None:
    """Make the log of partition 0 consist of one old segment."""
    node = broker.nodes[0]
    broker.stop(node)
    (folder,) = broker.folder.rglob(f"{topic}-0")
    for kept in folder.iterdir():
        if kept.suffix in {".index", ".timeindex", ".txnindex", ".snapshot"}:
            kept.unlink()  # the broker makes them anew
    segment: Path = folder / f"{0:020}.log"
    segment.write_bytes(SEGMENT)
    broker.restart(node)


def append(broker: LocalKafka, topic: str) -> None:
    """Have a producer of today write one record."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(topic, b"new", b"key", partition=0, timestamp=CREATED_AT)
    assert producer.flush(20) == 0


def read_by_librdkafka(broker: LocalKafka, topic: str, count: int) -> list[Seen]:
    """Read with the C client, checksums verified."""
    reader = Librdkafka(
        {"bootstrap.servers": broker.bootstrap, "group.id": fresh("g"), "check.crcs": True}
    )
    try:
        reader.assign([LibrdkafkaPartition(topic, 0, 0)])
        found: list[Message] = []
        while len(found) < count and (some := reader.consume(count, timeout=20)):
            found += some
    finally:
        reader.close()
    return [(m.offset(), _timestamp(m), m.key(), m.value()) for m in found]


def _timestamp(record: Message) -> int:
    kind, timestamp = record.timestamp()
    return -1 if kind == TIMESTAMP_NOT_AVAILABLE else timestamp


async def test_a_log_of_every_format_is_read_as_one(broker: LocalKafka) -> None:
    topic = fresh("old")
    create_topic(broker.bootstrap, topic, 1, settings={"retention.ms": "-1"})
    await anyio.to_thread.run_sync(put_segment, broker, topic)
    await anyio.to_thread.run_sync(append, broker, topic)
    expected = [*EXPECTED, (20, CREATED_AT, b"key", b"new")]
    tp = TopicPartition(topic, 0)
    async with Consumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([tp])
        seen: list[Seen] = []
        while len(seen) < len(expected):
            record = await consumer.getone(timeout=20)
            seen.append((record.offset, record.timestamp, record.key, record.value))
        assert seen == expected
        # In the middle of what is compressed, and in a hole.
        for asked, found in ((3, 3), (5, 6), (12, 12), (13, 15), (19, 19), (20, 20)):
            consumer.seek(tp, asked)
            assert (await consumer.getone(timeout=20)).offset == found
    theirs = await anyio.to_thread.run_sync(read_by_librdkafka, broker, topic, len(expected))
    assert theirs == expected
