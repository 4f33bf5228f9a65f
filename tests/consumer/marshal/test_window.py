"""Where a reader of a long log of claims begins."""

from typing import Any

import pytest

from kgroup.marshal.events import LogOpened
from kgroup.marshal.messages import Kind, Message, encode
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import TopicPartition
from kgroup.wire.messages import FetchRequest, ListOffsetsRequest
from kgroup.wire.records import NewRecord, encode_batch
from tests.consumer.marshal.stage import KEY, LOG, coordinated, reading

pytestmark = pytest.mark.anyio

NOW = int(WALL_AT_START)
HOUR = 3600


def beat(time: int, tail: int) -> bytes:
    return encode(Message(Kind.HEARTBEAT, time, b"i", b"A", b"g", b"t", 0, tail))


def fill(
    broker: InProcessBroker, seconds: int, count: int, *, headerless: bool, until: int = NOW
) -> None:
    """Write heartbeats of so many seconds, in batches; the last one is of `until`."""
    with broker.changing() as core:
        found = core.cluster.partition(broker.partition(LOG).tp)
        assert found is not None
        for first in range(0, count, 50):
            times = [until - seconds + seconds * (n + 1) // count for n in range(first, first + 50)]
            records = [
                NewRecord(None, beat(time, first + n), (), -1 if headerless else time * 1000)
                for n, time in enumerate(times)
            ]
            result = found.log.append(
                encode_batch(records), epoch=found.epoch, now_ms=times[-1] * 1000
            )
            assert result.base_offset == first, result


def first_read(asked: list[FetchRequest]) -> int:
    """Return the first offset that was read, after the places that were only looked at."""
    rows = [row for each in asked if each.max_wait_ms for row in each.topics[0].partitions]
    return rows[0].fetch_offset


async def opened_of(broker: InProcessBroker, **options: Any) -> tuple[LogOpened, int]:
    async with reading(broker, **options) as events:
        opened = await events.opened()
    return opened, first_read(broker.requests_of(FetchRequest))


@pytest.mark.parametrize("append_time", [True, False])
@pytest.mark.parametrize("headerless", [True, False])
@pytest.mark.slow
async def test_a_long_log_is_read_from_an_hour_before_its_end(
    append_time: bool, headerless: bool
) -> None:
    kind = "LogAppendTime" if append_time else "CreateTime"
    broker = coordinated(configs={"message.timestamp.type": kind})
    fill(broker, 24 * HOUR, 20_000, headerless=headerless)
    opened, first = await opened_of(broker, append_time=append_time)
    hour = 20_000 // 24
    assert opened.append_time is append_time
    assert 20_000 - 4 * hour < first < 20_000 - hour
    assert opened.keys[KEY].offset == 19_999
    assert opened.complete is False
    assert NOW - 4 * HOUR < opened.since / 1000 < NOW - HOUR


async def test_a_short_log_is_read_from_its_beginning() -> None:
    broker = coordinated()
    fill(broker, HOUR // 2, 100, headerless=False)
    opened, first = await opened_of(broker)
    assert (first, opened.complete) == (0, True)


async def test_a_log_that_was_quiet_for_a_day_is_known_to_have_been() -> None:
    broker = coordinated()
    fill(broker, HOUR, 1000, headerless=False, until=NOW - 24 * HOUR)
    opened, _ = await opened_of(broker)
    assert opened.since / 1000 < NOW - 23 * HOUR


@pytest.mark.parametrize("wrong", [-6 * HOUR, 6 * HOUR])
async def test_a_wrong_clock_here_never_makes_the_window_shorter(wrong: int) -> None:
    broker = coordinated()
    fill(broker, 24 * HOUR, 10_000, headerless=False, until=NOW - wrong)
    opened, _ = await opened_of(broker)
    assert opened.since / 1000 <= NOW - wrong - HOUR


async def test_times_from_far_away_do_not_mislead_the_search() -> None:
    broker = coordinated(configs={})
    log = broker.partition(LOG)
    fill(broker, 24 * HOUR, 10_000, headerless=True)
    for lie in (1, NOW + 9 * 365 * 24 * HOUR):
        log.append(beat(lie, 5), timestamp=-1)
    opened, first = await opened_of(broker, append_time=False)
    assert first < 10_000 - 10_000 // 24
    assert KEY in opened.keys


async def test_the_whole_log_is_read_where_that_is_asked_for() -> None:
    broker = coordinated()
    log = broker.partition(LOG)
    fill(broker, 24 * HOUR, 5000, headerless=False)
    log.delete_before(1000)
    opened, first = await opened_of(broker, whole=True)
    assert (first, opened.complete) == (1000, False)


# -- in front of the window --------------------------------------------------------------------


async def test_a_position_in_front_of_the_window_is_recalled() -> None:
    broker = coordinated()
    fill(broker, HOUR, 1000, headerless=False, until=NOW - 24 * HOUR)
    log = broker.partition(LOG)
    for number in range(20):
        other = Message(Kind.HEARTBEAT, NOW, b"i", b"B", b"other", b"t", 0, number)
        log.append(encode(other), timestamp=NOW * 1000)
    async with reading(broker) as events:
        opened = await events.opened()
        assert opened.keys.get(KEY) is None or opened.keys[KEY].offset == 999
        asked = len(broker.requests_of(FetchRequest))
        assert await events.reader.recall(KEY, 10.0) in (998, 999)
        assert await events.reader.recall(TopicPartition("t", 7), 10.0) is None
        looked = [each for each in broker.requests_of(FetchRequest)[asked:] if not each.max_wait_ms]
    assert len(looked) == 1


async def test_nothing_is_recalled_of_a_log_that_was_read_from_its_beginning() -> None:
    broker = coordinated()
    fill(broker, HOUR // 2, 100, headerless=False)
    async with reading(broker) as events:
        await events.opened()
        asked = len(broker.requests_of(ListOffsetsRequest))
        assert await events.reader.recall(KEY, 10.0) is None
        assert len(broker.requests_of(ListOffsetsRequest)) == asked


async def test_a_partition_that_is_not_read_cannot_be_recalled() -> None:
    broker = coordinated(10)
    async with reading(broker) as events:
        await events.opened()
        caught = None
        try:
            await events.reader.recall(TopicPartition("orders", 0), 10.0)
        except TimeoutError as error:
            caught = error
    assert "its coordination partition is not read" in str(caught)
