"""Requests that conversations about logs are made of, with the fields that matter."""

from collections.abc import Callable
from typing import Final

from kgroup.wire.compression import Codec
from kgroup.wire.messages import (
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kgroup.wire.records import BatchHeader, NewRecord, encode_batch
from kgroup.wire.records import header as layout
from kgroup.wire.records.encode import seal
from kgroup.wire.vocabulary import ZERO_UUID
from tests.testing.broker.talks.talk import Talk

_BY_ID_SINCE: Final = 13
NOBODY: Final = (1 << 40) + 7
"""An id that no producer has."""
END: Final = -1


def batch(
    *values: bytes,
    key: bytes | None = b"k",
    timestamp: int = 1000,
    codec: Codec = Codec.NONE,
    producer: tuple[int, int] | None = None,
    sequence: int = 0,
    transactional: bool = False,
) -> bytes:
    records = [NewRecord(key, value, (), timestamp + place) for place, value in enumerate(values)]
    if producer is None:
        return encode_batch(records, codec=codec)
    return encode_batch(
        records,
        codec=codec,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        transactional=transactional,
    )


def rewritten(data: bytes, change: Callable[[BatchHeader], BatchHeader]) -> bytes:
    """Change figures of a batch's header; the checksum is right again."""
    header = layout.unpack_header(memoryview(data), 0)
    return seal(change(header), data[layout.HEADER_SIZE :])


def produce(
    talk: Talk,
    topic: str,
    *batches: bytes | None,
    version: int = 9,
    transactional_id: str | None = None,
    acks: int = -1,
) -> ProduceRequest:
    """Write a request with one batch for each partition from 0 on."""
    by_id = version >= _BY_ID_SINCE
    rows = tuple(
        PartitionProduceData(index=number, records=data) for number, data in enumerate(batches)
    )
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=3000,
        topic_data=(
            TopicProduceData(
                name="" if by_id else topic,
                topic_id=talk.topics.get(topic, b"\x01" * 16) if by_id else ZERO_UUID,
                partition_data=rows,
            ),
        ),
    )


def offsets(
    topic: str, timestamp: int, *, committed: int = 0, epoch: int = -1, number: int = 0
) -> ListOffsetsRequest:
    row = ListOffsetsPartition(
        partition_index=number, timestamp=timestamp, current_leader_epoch=epoch
    )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=committed,
        topics=(ListOffsetsTopic(name=topic, partitions=(row,)),),
    )


def init(
    transactional_id: str | None, had: tuple[int, int] = (-1, -1), timeout_ms: int = 60_000
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=had[0],
        producer_epoch=had[1],
    )


def identity(answer: InitProducerIdResponse | EndTxnResponse | None) -> tuple[int, int]:
    assert answer is not None, "hung up"
    return answer.producer_id, answer.producer_epoch
