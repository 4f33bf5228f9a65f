"""Reading a topic to its end through the socket of an in-process broker, client by client.

Decides: what each client does: it takes all partitions by hand, from the beginning, and touches
every value; the raw loops are the least that any client could do.
Never: keeps the speed of a client that did not find every record, offset and byte.
"""

import asyncio
import gc
import socket
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple, TypeAlias

from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.frames import decode_response, encode_request
from kgroup.wire.messages import FetchPartition, FetchRequest, FetchTopic
from kgroup.wire.records import BatchView, iter_batches

TOPIC = "bench-fetch"
PARTITIONS = 8
PER_BATCH = 500
VALUE_SIZE = 100
_SIZE = struct.Struct(">i")
_FETCH = 12
_ROOM = 1 << 22
_PATIENCE = 300.0


class Seen(NamedTuple):
    """What a client found; two clients agree when these are equal."""

    records: int
    offset_sum: int
    value_bytes: int


Client: TypeAlias = Callable[[str, int], Seen]


def raw_headers(bootstrap: str, expected: int) -> Seen:
    """Fetch requests on a blocking socket; batches are counted by their headers."""
    records = offset_sum = size = 0
    for batch in _raw_batches(bootstrap, expected):
        count = batch.next_offset - batch.base_offset
        records += count
        offset_sum += count * (2 * batch.base_offset + count - 1) // 2
        size += count * VALUE_SIZE
    return Seen(records, offset_sum, size)


def raw_records(bootstrap: str, expected: int) -> Seen:
    """The same, and every value is unpacked by kgroup's codec."""
    records = offset_sum = size = 0
    for batch in _raw_batches(bootstrap, expected):
        columns = batch.columns()
        records += len(columns)
        offset_sum += sum(columns.offsets)
        for value in columns.values():
            size += len(value or b"")
    return Seen(records, offset_sum, size)


def _raw_batches(bootstrap: str, expected: int) -> Iterator[BatchView]:
    host, port = bootstrap.rsplit(":", 1)
    positions = dict.fromkeys(range(PARTITIONS), 0)
    with socket.create_connection((host, int(port)), _PATIENCE) as connected:
        answer = connected.makefile("rb", buffering=_ROOM)
        while sum(positions.values()) < expected:
            connected.sendall(encode_request(_fetch(positions), _FETCH, 1, "raw"))
            frame = answer.read(_SIZE.unpack(answer.read(_SIZE.size))[0])
            for number, batch in _batches_in(frame):
                yield batch
                positions[number] = batch.next_offset


def _fetch(positions: Mapping[int, int]) -> FetchRequest:
    rows = tuple(
        FetchPartition(partition=number, fetch_offset=at, partition_max_bytes=1 << 20)
        for number, at in positions.items()
    )
    topic = FetchTopic(topic=TOPIC, partitions=rows)
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=(topic,))


def _batches_in(frame: bytes) -> Iterator[tuple[int, BatchView]]:
    _, found = decode_response(FetchRequest, _FETCH, frame)
    for row in found.responses[0].partitions:
        assert row.error_code == 0
        for batch in iter_batches(row.records or b""):
            assert isinstance(batch, BatchView)
            yield row.partition_index, batch


def aiokafka_getmany(bootstrap: str, expected: int) -> Seen:
    """aiokafka's `getmany()`."""
    import aiokafka  # noqa: PLC0415

    async def read() -> Seen:
        records = offset_sum = size = 0
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest"
        )
        async with consumer:
            consumer.assign([aiokafka.TopicPartition(TOPIC, n) for n in range(PARTITIONS)])
            while records < expected:
                found = await consumer.getmany(timeout_ms=1000)
                for record in chain.from_iterable(found.values()):
                    records += 1
                    offset_sum += record.offset
                    size += len(record.value or b"")
        return Seen(records, offset_sum, size)

    return asyncio.run(read())


def kafka_python_poll(bootstrap: str, expected: int) -> Seen:
    """kafka-python's `poll()`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import kafka  # noqa: PLC0415
    records = offset_sum = size = 0
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([kafka.TopicPartition(TOPIC, number) for number in range(PARTITIONS)])
    while records < expected:
        found = consumer.poll(timeout_ms=1000, max_records=10_000)
        for record in chain.from_iterable(found.values()):
            records += 1
            offset_sum += record.offset
            size += len(record.value or b"")
    consumer.close()
    return Seen(records, offset_sum, size)


def confluent_consume(bootstrap: str, expected: int) -> Seen:
    """confluent-kafka's `consume()`."""
    import confluent_kafka  # noqa: PLC0415

    records = offset_sum = size = 0
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    places = [confluent_kafka.TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)]
    consumer.assign(places)
    while records < expected:
        for message in consumer.consume(min(expected - records, 10_000), 1.0):
            assert message.error() is None
            records += 1
            offset_sum += message.offset() or 0
            size += len(message.value() or b"")
    consumer.close()
    return Seen(records, offset_sum, size)


def kgroup_values(bootstrap: str, expected: int) -> Seen:
    """kgroup's `batches()`, the values of each."""
    from kgroup import Consumer  # noqa: PLC0415

    async def read() -> Seen:
        records = offset_sum = size = 0
        async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition(TOPIC, number) for number in range(PARTITIONS)])
            async for batch in consumer.batches():
                for value in batch.values():
                    size += len(value or b"")
                records += batch.next_offset - batch.first
                offset_sum += sum(range(batch.first, batch.next_offset))
                if records >= expected:
                    break
        return Seen(records, offset_sum, size)

    return asyncio.run(read())


CLIENTS: dict[str, Client] = {
    "raw loop": raw_headers,
    "raw loop, values": raw_records,
    "kgroup": kgroup_values,
    "aiokafka": aiokafka_getmany,
    "kafka-python": kafka_python_poll,
    "confluent-kafka": confluent_consume,
}


def read_through(client: Client, records: int) -> float:
    """Let a client read a topic of a broker in this process.

    Args:
        client: reads so many records from an address; one of `CLIENTS`.
        records: how many there are; a multiple of partitions times records per batch.

    Returns:
        Seconds from making the client to its last record and its end.

    Raises:
        SystemExit: it did not find every record once.
    """
    per_partition = records // PARTITIONS
    broker = InProcessBroker(topics={TOPIC: PARTITIONS})
    values = [bytes(VALUE_SIZE)] * PER_BATCH
    for number in range(PARTITIONS):
        for _ in range(per_partition // PER_BATCH):
            broker.partition(TOPIC, number).append(*values)
    expected = Seen(records, PARTITIONS * sum(range(per_partition)), records * VALUE_SIZE)
    with broker.serve() as served:
        client(served.bootstrap, 1)  # imports, and code written on first use
        gc.collect()
        began = time.perf_counter()
        seen = client(served.bootstrap, records)
        took = time.perf_counter() - began
    if seen != expected:
        raise SystemExit(f"{client.__name__} found {seen}, there are {expected}")
    return took
