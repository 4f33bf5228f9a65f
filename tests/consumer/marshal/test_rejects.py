"""Reports about invalid records in the log of claims: each reason once."""

import logging

import anyio
import pytest

from kgroup.backends.marshal.trace import Rejects
from kgroup.journal import MemorySink, MessageRejected
from kgroup.marshal.rules import WorldRules
from kgroup.marshal.view import LogView
from kgroup.testing.broker.handles import PartitionHandle
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord, encode_batch
from tests.consumer.marshal.claiming import A, claiming, kafka, owns
from tests.consumer.marshal.stage import LOG

pytestmark = pytest.mark.anyio

FIELDS = "fewer than eight fields"
NULL = "no value"
DAMAGED = "damaged batch"


def damage(log: PartitionHandle) -> None:
    """Append a batch of which a bit was flipped."""
    batch = encode_batch([NewRecord(None, b"x", (), 0)])
    log.append_raw(log.end.to_bytes(8, "big") + batch[8:-1] + bytes([batch[-1] ^ 1]))


def rejections(sink: MemorySink) -> list[tuple[str, int, int]]:
    rejected = (event for event in sink.events if isinstance(event, MessageRejected))
    return [(each.reason, each.count, each.offset) for each in rejected]


async def test_rejected_records_are_reported_once_per_reason_and_counted_each_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker, sink = kafka(), MemorySink()
    log = broker.partition(LOG)
    for value in (None, b"banana", b""):
        log.append(value)
    with caplog.at_level(logging.WARNING, "kgroup.marshal"):
        async with claiming(broker, journal=sink) as consumer:
            await owns(consumer, A)
            assert rejections(sink) == [(NULL, 1, 0), (FIELDS, 2, 2)]
            at = log.end
            for _ in range(5):
                log.append(b"pear")
                await anyio.sleep(1)
            assert len(rejections(sink)) == 2
            await anyio.sleep(60)
            (reason, count, offset) = rejections(sink)[-1]
            assert (reason, count, len(rejections(sink))) == (FIELDS, 7, 3)
            assert offset > at
            await anyio.sleep(200)
            assert len(rejections(sink)) == 3
    lines = [each.getMessage() for each in caplog.records if "changes nothing" in each.getMessage()]
    assert lines[0] == f"{LOG}-0: what stands at offset 0 changes nothing: {NULL} (1 so far)"
    assert len(lines) == 3


async def test_a_log_of_valid_messages_is_not_reported() -> None:
    broker, sink = kafka(), MemorySink()
    async with claiming(broker, journal=sink) as consumer:
        await owns(consumer, A)
        await anyio.sleep(100)
    assert rejections(sink) == []


async def test_unreadable_batches_are_reported_like_rejected_records() -> None:
    broker, sink = kafka(), MemorySink()
    log = broker.partition(LOG)
    damage(log)
    async with claiming(broker, journal=sink) as consumer:
        await owns(consumer, A)
        assert rejections(sink) == [(DAMAGED, 1, 0)]
        await anyio.sleep(100)
        at = log.end
        damage(log)
        await anyio.sleep(20)
    assert rejections(sink)[1:] == [(DAMAGED, 2, at)]


async def test_records_read_twice_are_counted_once() -> None:
    now, sink, tp = [0.0], MemorySink(), TopicPartition(LOG, 0)
    rejects = Rejects(sink, lambda: now[0])
    for at, values in ((0.0, (b"banana",)), (100.0, (b"banana", b"pear"))):
        view = LogView(0, "g", WorldRules(append_time=True))  # of a log that is read anew
        now[0] = at
        for offset, value in enumerate(values):
            view.read([(offset, 0, None, value, ())], offset + 1)
            rejects.look(tp, view)
    assert rejections(sink) == [(FIELDS, 1, 0), (FIELDS, 2, 1)]
