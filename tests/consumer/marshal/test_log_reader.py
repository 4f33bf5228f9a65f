"""The reader of coordination partitions: its events, and when they come."""

import anyio
import pytest

from kgroup.marshal.events import LogLost, LogOpened, LogRead
from kgroup.marshal.plan import coordination_partition
from kgroup.marshal.rules import Verdict
from kgroup.wire.messages import FetchRequest, ListOffsetsRequest
from tests.consumer.marshal.stage import KEY, LOG, Writer, coordinated, reading

pytestmark = pytest.mark.anyio


async def test_an_empty_log_is_open_at_once() -> None:
    async with reading(coordinated()) as events:
        opened = await events.opened(within=0.4)
    assert (opened.next_offset, opened.time, opened.since) == (0, -1, -1)
    assert (opened.keys, opened.topics, opened.complete) == ({}, frozenset({"t"}), True)


async def test_earlier_messages_are_reported_as_a_whole() -> None:
    broker = coordinated()
    writer = Writer(broker.partition(LOG))
    writer.beat(10, writer.claim())
    writer.claim(1, group="other")
    async with reading(broker) as events:
        opened = await events.opened()
    assert list(opened.keys) == [KEY]
    standing = opened.keys[KEY]
    assert (standing.client_id, standing.offset, standing.epoch) == (b"A", 10, 0)
    assert opened.next_offset == 3
    assert events.of(LogRead) == []


async def test_later_messages_are_reported_one_by_one_within_milliseconds() -> None:
    broker = coordinated()
    writer = Writer(broker.partition(LOG))
    async with reading(broker) as events:
        await events.opened()
        writer.beat(10, writer.claim())
        await events.until(lambda: len(events.reads) == 2, within=0.05)
    first, second = events.reads
    assert (first.tp, first.verdict, first.offset) == (KEY, Verdict.ACCEPTED, 0)
    assert (second.verdict, second.tail, second.standing.offset) == (Verdict.RENEWED, 10, 10)


async def test_messages_of_other_groups_are_no_reads_but_move_the_position() -> None:
    broker = coordinated()
    async with reading(broker) as events:
        await events.opened()
        Writer(broker.partition(LOG)).claim(group="other")
        await events.until(lambda: events.of(LogRead))
    assert events.reads == []
    assert events.of(LogRead)[0].next_offset == 1


async def test_only_the_partitions_that_topics_hash_to_are_read() -> None:
    broker = coordinated(10)
    topics = ("orders", "payments.v1")
    numbers = {coordination_partition(each, 10) for each in topics}
    async with reading(broker, *topics) as events:
        await events.opened(2)
        await anyio.sleep(2.0)
    assert {each.partition for each in events.of(LogOpened)} == numbers
    asked = {
        row.partition
        for request in broker.requests_of(FetchRequest)
        for topic in request.topics
        for row in topic.partitions
    }
    assert asked == numbers


async def test_partitions_of_one_broker_are_waited_for_together() -> None:
    broker = coordinated(10)
    numbers = [coordination_partition(each, 10) for each in ("orders", "payments.v1")]
    async with reading(broker, "orders", "payments.v1") as events:
        await events.opened(2)
        for number in numbers:
            Writer(broker.partition(LOG, number)).claim(topic="orders")
            await events.next_read(within=0.05)


async def test_another_topic_of_the_same_partition_is_reported_without_reading_anew() -> None:
    broker = coordinated()
    Writer(broker.partition(LOG)).claim()
    async with reading(broker) as events:
        await events.opened()
        asked = len(broker.requests_of(ListOffsetsRequest))
        events.reader.follow(frozenset({"t", "u"}))
        opened = await events.opened(2)
    assert opened.topics == {"t", "u"}
    assert list(opened.keys) == [KEY]
    assert len(broker.requests_of(ListOffsetsRequest)) == asked


async def test_a_partition_of_no_followed_topic_is_not_read_on() -> None:
    broker = coordinated(10)
    one, other = (coordination_partition(each, 10) for each in ("orders", "payments.v1"))
    async with reading(broker, "orders", "payments.v1") as events:
        await events.opened(2)
        events.reader.follow(frozenset({"orders"}))
        Writer(broker.partition(LOG, other)).claim()
        Writer(broker.partition(LOG, one)).claim()
        await anyio.sleep(2.0)
        assert list(events.reader.views) == [one]
    assert {each.partition for each in events.of(LogRead)} == {one}


async def test_a_quiet_log_says_now_and_then_that_it_was_read() -> None:
    async with reading(coordinated(), sign_interval=5.0) as events:
        await events.opened()
        await anyio.sleep(21.0)
    assert 3 <= len(events.of(LogRead)) <= 4
    assert events.reads == []


@pytest.mark.slow
async def test_a_quiet_log_says_so_also_beside_a_busy_one() -> None:
    broker = coordinated(10)
    one, other = (coordination_partition(each, 10) for each in ("orders", "payments.v1"))
    async with reading(broker, "orders", "payments.v1") as events:
        await events.opened(2)
        for _ in range(200):
            Writer(broker.partition(LOG, one)).claim(topic="orders")
            await anyio.sleep(0.1)
    assert len([each for each in events.of(LogRead) if each.partition == other]) >= 3


async def test_a_reader_that_is_cut_off_gives_no_sign() -> None:
    broker = coordinated()
    async with reading(broker, sign_interval=5.0) as events:
        await events.opened()
        broker.answers.ignore(FetchRequest, times=None)
        await anyio.sleep(120.0)
        assert events.of(LogRead) == []
        broker.answers.clear()
        Writer(broker.partition(LOG)).claim()
        await events.until(lambda: events.reads)


# -- leaders -----------------------------------------------------------------------------------


async def test_reading_goes_on_under_another_leader() -> None:
    broker = coordinated(nodes=2)
    log = broker.partition(LOG)
    writer = Writer(log)
    async with reading(broker) as events:
        await events.opened()
        epoch = writer.claim()
        await events.until(lambda: events.reads)
        log.move_to(2 if log.leader == 1 else 1)
        writer.beat(5, epoch)
        await events.until(lambda: len(events.reads) == 2)
        await anyio.sleep(40.0)
    assert events.of(LogLost) == []
    assert len(events.of(LogOpened)) == 1


async def test_a_dead_leader_is_waited_for() -> None:
    broker = coordinated()
    writer = Writer(broker.partition(LOG))
    async with reading(broker) as events:
        await events.opened()
        broker.node(1).kill()
        await anyio.sleep(60.0)
        broker.node(1).start()
        writer.claim()
        await events.until(lambda: events.reads)
    assert events.of(LogLost) == []


@pytest.mark.parametrize("release", ["4.3.1", "3.9.1"])
async def test_a_tail_that_was_cut_off_and_written_anew_is_noticed(release: str) -> None:
    broker = coordinated(nodes=2, release=release)
    log = broker.partition(LOG)
    writer, other = Writer(log), Writer(log, "B")
    async with reading(broker) as events:
        await events.opened()
        epoch = writer.claim()
        for offset in range(4):
            writer.beat(offset, epoch)
        await events.until(lambda: len(events.reads) == 5)
        log.move_to(2 if log.leader == 1 else 1, resigned=False)
        log.truncate(0)
        first = other.claim()
        for offset in range(20, 30):
            other.beat(offset, first)
        opened = await events.opened(2)
    (lost,) = events.of(LogLost)
    assert "tail was cut off at offset 0, after it was read up to 5" in str(lost.reason)
    assert (opened.keys[KEY].client_id, opened.keys[KEY].offset) == (b"B", 29)


async def test_a_tail_that_is_gone_without_another_leader_is_noticed() -> None:
    broker = coordinated()
    log = broker.partition(LOG)
    writer = Writer(log)
    writer.claim()
    async with reading(broker) as events:
        await events.opened()
        log.truncate(0)
        opened = await events.opened(2)
    assert len(events.of(LogLost)) == 1
    assert opened.keys == {}


async def test_retention_that_overtakes_the_reader_makes_it_begin_anew() -> None:
    """Scenario 15."""
    broker = coordinated()
    log = broker.partition(LOG)
    writer = Writer(log)
    async with reading(broker) as events:
        await events.opened()
        held = broker.answers.ignore(FetchRequest, times=None)
        await anyio.sleep(1.0)
        epoch = writer.claim()
        for offset in range(9):
            writer.beat(offset, epoch)
        log.delete_before(8)
        held.cancel()
        opened = await events.opened(2, within=120.0)
    (lost,) = events.of(LogLost)
    assert "retention has overtaken" in str(lost.reason)
    assert "stood at offset 0, and the log begins at 8" in str(lost.reason)
    assert (opened.next_offset, opened.complete) == (10, False)
    assert opened.keys[KEY].definite is False
