"""Logs of claims with foreign content: it is counted, or ends the reader with its cause."""

from collections import Counter
from collections.abc import Callable

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import CoordinationTopicError, UnauthorizedError
from kgroup.marshal.events import LogLost, LogRead
from kgroup.marshal.messages import Reject
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.wire.messages import FetchRequest, MetadataRequest
from kgroup.wire.records import Codec, NewRecord, encode_batch
from tests.consumer.ground import hidden
from tests.consumer.marshal.stage import APPENDED, KEY, LOG, LogEvents, Writer, coordinated, reading

pytestmark = pytest.mark.anyio

NOW = int(WALL_AT_START)

GARBAGE: list[tuple[bytes | None, Reject]] = [
    (None, Reject.NULL),
    (b"", Reject.FIELDS),
    (b"banana", Reject.FIELDS),
    (b"\x00\xff" * 50, Reject.FIELDS),
    (b"/" * 1_000_000, Reject.TOO_LONG),
    (b"Heartbeat/1/%d/i/c/g/t/-1/5" % NOW, Reject.PARTITION_RANGE),
    (b"Heartbeat/1/%d/i/c/g/t/2147483647/5" % NOW, Reject.PARTITION_RANGE),
    (b"Heartbeat/1/%d/i/c/g/t/0/-5" % NOW, Reject.OFFSET_RANGE),
    (b"Heartbeat/1/1/i/c/g/t/0/5", Reject.TIME_RANGE),
    (b"Heartbeat/1/9999999999/i/c/g/t/0/5", Reject.TIME_RANGE),
    (b"Heartbeat/x/%d/i/c/g/t/0/5" % NOW, Reject.VERSION),
    (b"StealingPartition/1/%d/i/c/g/t/0/5" % NOW, Reject.KIND),
    (b"ClaimingPartition/1/%d/i/c/d/g/t/0" % NOW, Reject.PARTITION),
]


@pytest.mark.parametrize("place", ["first", "last", "only", "later"])
async def test_garbage_is_counted_and_stops_nothing(place: str) -> None:
    """Scenario 16."""
    broker = coordinated()
    log = broker.partition(LOG)

    def litter() -> None:
        for value, _ in GARBAGE:
            log.append(value)

    if place == "first":
        litter()
    if place != "only":
        Writer(log).claim()
    if place in ("last", "only"):
        litter()
    async with reading(broker) as events:
        opened = await events.opened()
        if place == "later":
            litter()
            await events.until(lambda: events.of(LogRead)[-1:] and _end(events) == log.end)
        assert (KEY in opened.keys) is (place != "only")
        assert events.reader.rejects == Counter(why.value for _, why in GARBAGE)
        Writer(log).claim(1)
        await events.until(lambda: events.reads, within=1.0)


def _end(events: LogEvents) -> int:
    return events.of(LogRead)[-1].next_offset


async def test_an_unknown_version_is_read_like_any_other() -> None:
    """Scenario 16: as in the original, which emits 1 and reads any."""
    broker = coordinated()
    broker.partition(LOG).append(b"Heartbeat/99/%d/i/c/g/t/0/5" % NOW)
    async with reading(broker) as events:
        assert (await events.opened()).keys[KEY].offset == 5


@pytest.mark.parametrize("committed", [True, False])
async def test_a_mark_of_a_transaction_at_the_end_does_not_stop_the_start(committed: bool) -> None:
    broker = coordinated()
    log = broker.partition(LOG)
    Writer(log).claim()
    with broker.changing() as core:
        found = core.cluster.partition(log.tp)
        assert found is not None
        found.log.append_control(9, 0, committed=committed, epoch=found.epoch, now_ms=NOW * 1000)
    async with reading(broker) as events:
        opened = await events.opened(within=2.0)
        assert (opened.next_offset, list(opened.keys)) == (2, [KEY])
        Writer(log).beat(5, 0)
        await events.until(lambda: events.reads, within=1.0)


async def test_a_gap_at_the_end_does_not_stop_the_start() -> None:
    broker = coordinated()
    log = broker.partition(LOG)
    Writer(log).claim()
    Writer(log).beat(5, 0)
    with broker.changing() as core:
        found = core.cluster.partition(log.tp)
        assert found is not None
        found.log.remove([1])
    async with reading(broker) as events:
        opened = await events.opened(within=2.0)
        assert opened.keys[KEY].offset is None
        Writer(log).beat(6, 0)
        await events.until(lambda: events.reads, within=2.0)
    assert events.reads[0].standing.offset == 6


# -- damage ------------------------------------------------------------------------------------


def damaged(at: int, *, flip: int) -> Callable[[], bytes]:
    """Return a batch of one claim at an offset, with one damaged byte."""

    def make() -> bytes:
        batch = bytearray(encode_batch([NewRecord(None, b"x" * 40, (), NOW * 1000)]))
        batch[0:8] = at.to_bytes(8, "big")
        batch[flip] ^= 0x55
        return bytes(batch)

    return make


@pytest.mark.parametrize("flip", [10, 11, 16, 17, 21, 23, 60, 70], ids=lambda at: f"byte_{at}")
async def test_a_damaged_batch_is_counted_and_skipped(flip: int) -> None:
    broker = coordinated(configs={})
    log = broker.partition(LOG)
    writer = Writer(log)
    writer.claim()
    log.append_raw(damaged(1, flip=flip)())
    writer.beat(7, 0)
    async with reading(broker) as events:
        opened = await events.opened(within=20.0)
        assert opened.keys[KEY].offset == 7
        assert events.reader.rejects["damaged batch"] == 1
        log.append_raw(damaged(log.end, flip=flip)())
        writer.beat(8, 0)
        await events.until(lambda: any(read.tail == 8 for read in events.reads), within=20.0)
    assert events.of(LogLost) == []


async def test_damage_of_one_answer_only_is_no_damage_of_the_log() -> None:
    broker = coordinated()
    writer = Writer(broker.partition(LOG))
    async with reading(broker) as events:
        await events.opened()
        broker.answers.rewrite_bytes(FetchRequest, lambda frame: frame[:-5] + b"XXXXX", times=1)
        writer.claim()
        await events.until(lambda: events.reads, within=10.0)
        assert events.reader.rejects == {}
    assert events.of(LogLost) == []


async def test_compressed_claims_are_read_all_the_same() -> None:
    broker = coordinated(configs={})
    log = broker.partition(LOG)
    value = b"Heartbeat/1/%d/i/c/g/t/0/5" % NOW
    batch = encode_batch([NewRecord(None, value, (), NOW * 1000)], codec=Codec.GZIP)
    log.append_raw(batch)
    async with reading(broker) as events:
        assert (await events.opened()).keys[KEY].offset == 5


# -- the topic itself --------------------------------------------------------------------------


async def test_a_missing_topic_is_the_end() -> None:
    broker = coordinated()
    broker.delete_topic(LOG)
    async with reading(broker) as events:
        error = await events.ends()
    assert isinstance(error, CoordinationTopicError)
    assert "there is none; `kgroup marshal init` makes it" in str(error)


async def test_a_topic_that_was_deleted_is_the_end() -> None:
    broker = coordinated()
    async with reading(broker) as events:
        await events.opened()
        broker.delete_topic(LOG)
        error = await events.ends()
    assert isinstance(error, CoordinationTopicError)
    assert "was deleted" in str(error)


async def test_a_topic_that_was_made_anew_is_the_end() -> None:
    broker = coordinated()
    async with reading(broker) as events:
        await events.opened()
        broker.delete_topic(LOG)
        broker.create_topic(LOG, 1, configs=APPENDED)
        error = await events.ends()
    assert isinstance(error, CoordinationTopicError)
    assert "deleted and made anew" in str(error)


async def test_another_number_of_partitions_is_the_end() -> None:
    broker = coordinated(4)
    async with reading(broker) as events:
        await events.opened()
        broker.add_partitions(LOG, 8)
        error = await events.ends()
    assert isinstance(error, CoordinationTopicError)
    assert "it has 8 partitions and had 4" in str(error)


async def test_one_broker_that_knows_of_no_topic_is_not_believed() -> None:
    broker = coordinated()
    async with reading(broker) as events:
        await events.opened()
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker.answers.rewrite(
            MetadataRequest, lambda _, answer: hidden(LOG, missing, answer), times=2
        )
        await anyio.sleep(100.0)
        assert events.error is None
        Writer(broker.partition(LOG)).claim()
        await events.until(lambda: events.reads)


async def test_a_topic_that_may_not_be_read_is_the_end() -> None:
    broker = coordinated()
    broker.answers.error(FetchRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    Writer(broker.partition(LOG)).claim()
    async with reading(broker) as events:
        assert isinstance(await events.ends(), UnauthorizedError)


async def test_unanswered_metadata_ends_the_reader_in_time() -> None:
    broker = coordinated()
    async with reading(broker) as events:
        broker.answers.ignore(MetadataRequest, times=None)
        assert isinstance(await events.ends(within=200.0), TimeoutError)


async def test_another_kind_of_timestamps_makes_the_reader_begin_anew() -> None:
    broker = coordinated(configs={})
    log = broker.partition(LOG)
    writer = Writer(log)
    writer.claim()
    async with reading(broker, append_time=True) as events:
        assert (await events.opened()).append_time is False
        with broker.changing() as core:
            core.cluster.topics[LOG].configs.update(APPENDED)
        writer.beat(5, 0)
        opened = await events.opened(2)
    assert opened.append_time is True
    assert opened.keys[KEY].offset == 5
    (lost,) = events.of(LogLost)
    assert "message.timestamp.type was changed" in str(lost.reason)


async def test_errors_of_a_leader_are_waited_out() -> None:
    broker = coordinated()
    writer = Writer(broker.partition(LOG))
    async with reading(broker) as events:
        await events.opened()
        for code in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FENCED_LEADER_EPOCH,
            ErrorCode.UNKNOWN_LEADER_EPOCH,
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.UNKNOWN_SERVER_ERROR,
        ):
            broker.answers.error(FetchRequest, code, times=3)
            writer.claim()
            seen = len(events.reads)
            await events.until(lambda seen=seen: len(events.reads) > seen)  # type: ignore[misc]
    assert events.of(LogLost) == []
    assert events.of(LogRead)
