"""Where reading begins and goes on: committed, reset, sought, paused."""

from datetime import timedelta

import anyio
import pytest

from kgroup.errors import (
    ArgumentError,
    AuthenticationError,
    NoOffsetError,
    NotOwnedError,
    OffsetOutOfRangeError,
)
from kgroup.journal import Delivered, Done, OffsetRead, PositionMoved
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import TopicPartition
from kgroup.wire.messages import ListOffsetsRequest, ListOffsetsResponse, OffsetFetchRequest
from tests.consumer.entered import A, B, by_hand, entered
from tests.consumer.shelf import Shelf, offsets_of

pytestmark = pytest.mark.anyio


async def test_reading_begins_at_the_committed_offset() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with entered(shelf) as stage:
        stage.group.offsets[A] = 6
        await stage.give(A)
        assert (await stage.consumer.getone(timeout=1)).offset == 6
        (read,) = stage.events(OffsetRead)
        assert (read.claim.tp, read.offset, read.generation_id) == (A, 6, 1)


@pytest.mark.parametrize(("policy", "offset"), [("earliest", 2), ("latest", 10)])
async def test_without_a_committed_offset_the_policy_decides(policy: str, offset: int) -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.logs[A].start = 2
    async with entered(shelf, auto_offset_reset=policy) as stage:
        await stage.give(A)
        assert await stage.consumer.position(A) == offset
        (moved,) = stage.events(PositionMoved)
        assert moved.offset == offset


async def test_a_reset_by_age_begins_at_the_first_record_that_is_no_older() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 10)
    shelf.fill(B, 10)
    now = round(WALL_AT_START * 1000)
    shelf.logs[A].times = [(now - 3_700_000, 0), (now - 3_500_000, 6)]
    async with by_hand(shelf, A, B, auto_offset_reset=timedelta(hours=1)) as stage:
        assert await stage.consumer.position(A) == 6
        assert await stage.consumer.position(B) == 10, "nothing is that young: the end of the log"
        (first, *_) = shelf.broker(1).seen_of(ListOffsetsRequest)
        assert isinstance(first.request, ListOffsetsRequest)
        asked = {row.timestamp for row in first.request.topics[0].partitions}
        assert asked == {now - 3_600_000 + round(first.at * 1000)}


async def test_a_reset_by_age_skips_no_record_written_meanwhile() -> None:
    """1. No record is that young; 2. some are written; 3. the end of the log is behind them."""
    shelf = Shelf(t=1)
    shelf.fill(A, 5)
    node = shelf.broker(1)

    def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
        answer = shelf.list_offsets(request)
        if len(node.requests(ListOffsetsRequest)) == 1:
            shelf.logs[A].times.append((round(WALL_AT_START * 1000), 5))
            shelf.fill(A, 3)
        return answer

    node.on(ListOffsetsRequest, answer)
    async with by_hand(shelf, A, auto_offset_reset=timedelta(hours=1)) as stage:
        assert offsets_of(await stage.consumer.getmany(timeout=5)) == {A: [5, 6, 7]}


async def test_a_reset_by_age_that_reaches_back_beyond_all_time_begins_at_the_start() -> None:
    shelf = Shelf(t=1)
    shelf.logs[A].times = [(0, 0)]
    shelf.fill(A, 3)
    async with by_hand(shelf, A, auto_offset_reset=timedelta(days=100_000)) as stage:
        assert await stage.consumer.position(A) == 0


async def test_out_of_range_resets_by_age_too() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.logs[A].times = [(round(WALL_AT_START * 1000), 8)]
    async with by_hand(shelf, A, auto_offset_reset=timedelta(minutes=5)) as stage:
        stage.consumer.seek(A, 99)
        assert (await stage.consumer.getone(timeout=5)).offset == 8


async def test_without_a_policy_every_read_raises_until_a_seek() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 3)
    async with entered(shelf, auto_offset_reset="none") as stage:
        stage.group.give(A)
        for _ in range(2):
            with pytest.raises(NoOffsetError, match="t-0"):
                await stage.consumer.getmany(timeout=1)
        with pytest.raises(NoOffsetError):
            await stage.consumer.position(A)
        stage.consumer.seek(A, 1)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [1, 2]}


async def test_a_failing_lookup_is_repeated_and_resets_nothing() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.logs[A].error = 6
    async with entered(shelf, auto_offset_reset="latest") as stage:
        stage.group.give(A)
        await anyio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await stage.consumer.position(A, timeout=5)
        shelf.logs[A].error = 0
        assert await stage.consumer.position(A, timeout=5) == 10
        assert len(shelf.broker(1).requests(ListOffsetsRequest)) < 20


async def test_out_of_range_resets_by_policy_after_the_fetched_records() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A) as stage:
        stage.consumer.seek(A, 5)
        await anyio.sleep(1)
        shelf.logs[A].start = 20
        shelf.logs[A].end = 20
        shelf.fill(A, 5)
        await anyio.sleep(2)
        assert offsets_of(await stage.consumer.getmany()) == {A: [5, 6, 7, 8, 9]}
        assert offsets_of(await stage.consumer.getmany(timeout=5)) == {A: [20, 21, 22, 23, 24]}


async def test_out_of_range_without_a_policy_names_the_offset() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 3)
    async with by_hand(shelf, A, auto_offset_reset="none") as stage:
        stage.consumer.seek(A, 99)
        for _ in range(2):
            with pytest.raises(OffsetOutOfRangeError) as caught:
                await stage.consumer.getmany(timeout=1)
            assert caught.value.positions == {A: 99}


async def test_a_seek_counts_at_once_and_drops_fetched_records() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 20)
    async with by_hand(shelf, A) as stage:
        await anyio.sleep(1)
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        stage.consumer.seek(A, 15)
        assert await stage.consumer.position(A) == 15
        assert (await stage.consumer.getone(timeout=1)).offset == 15


async def test_an_answer_to_a_fetch_from_before_a_seek_is_dropped() -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A) as stage:
        await stage.consumer.position(A)
        await anyio.sleep(0.1)  # a fetch at 0 waits at the broker
        shelf.fill(A, 10)
        stage.consumer.seek(A, 7)
        assert (await stage.consumer.getone(timeout=5)).offset == 7
        assert [event.first for event in stage.events(Delivered)] == [7]


async def test_a_seek_in_a_loop_over_records_is_followed() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A) as stage:
        seen = []
        async for record in stage.consumer:
            seen.append(record.offset)
            if len(seen) == 3:
                stage.consumer.seek(A, 8)
            if record.offset == 9:
                break
        assert seen == [0, 1, 2, 8, 9]


async def test_a_seek_needs_an_owned_partition_and_a_good_offset() -> None:
    async with by_hand(Shelf(t=2), A) as stage:
        with pytest.raises(NotOwnedError):
            stage.consumer.seek(B, 1)
        for bad in (-1, "", True, None, 1.5):
            with pytest.raises(ArgumentError):
                stage.consumer.seek(A, bad)  # type: ignore[arg-type]


async def test_a_paused_partition_is_neither_handed_out_nor_fetched() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    shelf.fill(B, 5)
    async with by_hand(shelf, A, B) as stage:
        await anyio.sleep(1)
        stage.consumer.pause(A)
        assert set(await stage.consumer.getmany(timeout=1)) == {B}
        assert await stage.consumer.getmany(timeout=1) == {}
        shelf.fill(B, 1)
        assert set(await stage.consumer.getmany(timeout=2)) == {B}
        last = shelf.fetches[-1]
        assert [each.partition for each in last.topics[0].partitions] == [B.partition]
        stage.consumer.resume(A)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [0, 1, 2, 3, 4]}


async def test_a_pause_in_a_loop_over_records_is_followed() -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    shelf.fill(B, 5)
    async with by_hand(shelf, A, B) as stage:
        await anyio.sleep(1)
        seen: list[TopicPartition] = []
        async for record in stage.consumer:
            if not seen:
                stage.consumer.pause(record.tp)
            seen.append(record.tp)
            if len(seen) == 6:
                break
        assert len(set(seen[1:])) == 1
        assert seen[0] != seen[1]


async def test_the_position_is_the_next_record_to_hand_out_not_to_fetch() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A) as stage:
        await anyio.sleep(1)
        assert await stage.consumer.position(A) == 0
        await stage.consumer.getmany(max_records=4)
        assert await stage.consumer.position(A) == 4


async def test_control_records_move_the_position() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 3)
    log = shelf.logs[A]
    log.append(b"mark")
    first, end, data = log.batches[-1]
    control = bytearray(data)
    control[22] |= 0x20
    log.batches[-1] = (first, end, bytes(control))
    async with by_hand(shelf, A, check_crcs=False) as stage:
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [0, 1, 2]}
        assert await stage.consumer.position(A) == 4


async def test_a_consumer_by_hand_reads_and_commits_the_groups_offsets() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.committed[A] = 4
    async with by_hand(shelf, A) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 4
        await stage.consumer.commit()
        assert shelf.committed[A] == 5
    assert shelf.broker(1).requests(OffsetFetchRequest)[0].groups[0].group_id == "g"


async def test_without_a_group_nothing_is_read_or_committed() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 2)
    async with by_hand(shelf, A, group_id=None) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 0
    assert not shelf.committed
    assert not shelf.broker(1).requests(OffsetFetchRequest)


async def test_being_refused_while_committed_offsets_are_read_is_a_failure_and_no_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AuthenticationError("broker-1:9092", "PLAIN", "no such user")

    shelf = Shelf(t=1)
    async with entered(shelf) as stage:
        monkeypatch.setattr(stage.group, "committed", refuse)
        stage.group.give(A)
        with pytest.raises(AuthenticationError):
            await stage.consumer.getone(timeout=5)
        assert isinstance(stage.consumer.failure, AuthenticationError)


async def test_records_read_again_after_a_seek_are_journalled_as_done_again() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with entered(shelf) as stage:
        await stage.give(A)
        await stage.consumer.getmany(max_records=5, timeout=1)
        await stage.consumer.getmany(max_records=5, timeout=1)
        stage.consumer.seek(A, 3)
        await stage.consumer.getmany(max_records=2, timeout=1)
        await stage.consumer.getmany(max_records=2, timeout=1)
        assert [each.next_offset for each in stage.events(Done)] == [5, 5]
