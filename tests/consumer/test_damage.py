"""Records that cannot be read: asked for again, then an error of their partition and no other."""

import struct
import sys
from itertools import pairwise
from typing import Any

import anyio
import pytest

from kgroup.consumer.buffer.damage import REFETCHES
from kgroup.errors import CorruptRecordError, UnsupportedCodecError
from kgroup.journal import Delivered
from kgroup.wire.messages import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kgroup.wire.records import BatchHeader, Codec, NewRecord, encode_batch
from kgroup.wire.records.encode import seal
from tests.consumer.entered import A, B, Stage, by_hand, entered
from tests.consumer.shelf import Log, Shelf, offsets_of
from tests.search.scripted.broker import Delayed
from tests.wire.records.old_messages import message_set, wrapper

pytestmark = pytest.mark.anyio

PATIENCE = 10.0


def replace_last(log: Log, data: bytes) -> bytes:
    """Put other bytes in place of the last batch; return the former ones."""
    first, end, before = log.batches[-1]
    log.batches[-1] = (first, end, data)
    return before


def damage(log: Log) -> bytes:
    """Flip a bit of the last batch; return the former ones."""
    data = log.batches[-1][2]
    return replace_last(log, data[:-1] + bytes([data[-1] ^ 1]))


def lie(log: Log) -> None:
    """Have the last batch announce one record more than it has, with a right checksum."""
    data = log.batches[-1][2]
    header = BatchHeader._make(struct.unpack_from(">qiibIhiqqqhii", data))
    count = header.record_count + 1
    lying = header._replace(record_count=count, last_offset_delta=count - 1)
    replace_last(log, seal(lying, data[61:]))


def asked_at(stage: Stage, offset: int) -> list[float]:
    """When partition A was asked for at an offset."""
    return [
        seen.at
        for seen in stage.shelf.broker(1).seen_of(FetchRequest)
        if isinstance(seen.request, FetchRequest)
        for topic in seen.request.topics
        for each in topic.partitions
        if (each.partition, each.fetch_offset) == (A.partition, offset)
    ]


def shelf_with(*values: bytes, partitions: int = 1) -> Shelf:
    """Brokers with one record in each batch of A."""
    shelf = Shelf(t=partitions)
    for value in values:
        shelf.logs[A].append(value)
    return shelf


# -- N15: bad CRC ------------------------------------------------------------------------------


async def test_old_records_after_damage_are_not_asked_for_without_a_pause() -> None:
    shelf = shelf_with(b"old", b"bad")
    old, _ = shelf.logs[A].batches[0][2], damage(shelf.logs[A])

    def stale(request: FetchRequest) -> Any:
        """Send damage once, then old records; virtual time does not advance in a storm."""
        if len(shelf.fetches) == 1:
            return shelf.fetch(request)
        (topic,) = request.topics
        data = PartitionData(
            partition_index=A.partition, high_watermark=2, aborted_transactions=None, records=old
        )
        row = FetchableTopicResponse(topic_id=topic.topic_id, partitions=(data,))
        answer = FetchResponse(responses=(row,))
        return Delayed(answer, 1.0) if len(shelf.fetches) > 200 else answer

    shelf.broker(1).on(FetchRequest, stale)
    async with by_hand(shelf, A, auto_offset_reset="none") as stage:
        stage.consumer.seek(A, 1)
        await anyio.sleep(5.0)
        assert 1 < len(asked_at(stage, 1)) < 100


async def test_damage_is_asked_for_again_a_bounded_number_of_times_and_then_raised() -> None:
    """N15: with the offset, nothing delivered, the position unmoved, at every read."""
    shelf = shelf_with(b"good", b"bad")
    damage(shelf.logs[A])
    async with by_hand(shelf, A) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        for _ in range(3):
            with pytest.raises(CorruptRecordError, match="t-0, the batch at offset 1") as caught:
                await stage.consumer.getone(timeout=PATIENCE)
            assert caught.value.base_offset == 1
            assert "seek past it" in str(caught.value)
            assert await stage.consumer.position(A) == 1
            await anyio.sleep(30)
        # The first time it came behind the good record.
        assert len(asked_at(stage, 1)) == REFETCHES
        assert [event.last for event in stage.events(Delivered)] == [0]


async def test_there_is_a_longer_pause_before_each_further_question() -> None:
    """N15."""
    shelf = shelf_with(b"bad")
    damage(shelf.logs[A])
    async with by_hand(shelf, A) as stage:
        with pytest.raises(CorruptRecordError):
            await stage.consumer.getone(timeout=PATIENCE)
        asked = asked_at(stage, 0)
        pauses = [later - earlier for earlier, later in pairwise(asked)]
        assert pauses == pytest.approx([0.1, 0.2, 0.4], abs=0.01)


async def test_every_damage_is_counted_by_itself() -> None:
    """N15."""
    shelf = shelf_with(b"0")
    async with by_hand(shelf, A) as stage:
        for offset in range(REFETCHES + 2):
            sound = damage(shelf.logs[A])
            await anyio.sleep(0.6)
            assert await stage.consumer.getmany() == {}
            replace_last(shelf.logs[A], sound)
            assert (await stage.consumer.getone(timeout=2)).offset == offset
            shelf.logs[A].append(b"next")


async def test_a_seek_leaves_damage_out_and_one_to_it_asks_again() -> None:
    """N15."""
    shelf = shelf_with(b"bad", b"good")
    first, end, data = shelf.logs[A].batches[0]
    shelf.logs[A].batches[0] = (first, end, data[:-1] + b"?")
    async with by_hand(shelf, A) as stage:
        with pytest.raises(CorruptRecordError):
            await stage.consumer.getone(timeout=PATIENCE)
        stage.consumer.seek(A, 1)
        assert (await stage.consumer.getone(timeout=1)).value == b"good"
        shelf.logs[A].batches[0] = (first, end, data)
        stage.consumer.seek(A, 0)
        assert (await stage.consumer.getone(timeout=1)).value == b"bad"


async def test_a_commit_covers_records_before_damage_and_no_more() -> None:
    """N15."""
    shelf = shelf_with(b"good", b"bad")
    damage(shelf.logs[A])
    async with entered(shelf) as stage:
        stage.group.offsets[A] = 0
        await stage.give(A)
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        with pytest.raises(CorruptRecordError):
            await stage.consumer.getone(timeout=PATIENCE)
        await stage.consumer.commit()
        assert stage.group.offsets[A] == 1


# -- N17: figures ------------------------------------------------------------------------------


async def test_a_batch_that_turns_out_to_be_damaged_lets_nothing_behind_it_pass() -> None:
    """N17: the checksum is right, so later batches have been fetched long since."""
    shelf = shelf_with(b"good", b"lies")
    lie(shelf.logs[A])
    async with by_hand(shelf, A, max_partition_fetch_bytes=1) as stage:
        shelf.fill(A, 5, per_batch=1)
        await anyio.sleep(5)
        assert asked_at(stage, 7)
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        for _ in range(3):
            with pytest.raises(CorruptRecordError, match="t-0, the batch at offset 1"):
                await stage.consumer.getone(timeout=1)
            assert await stage.consumer.position(A) == 1
            await anyio.sleep(5)
        stage.consumer.seek(A, 3)
        assert (await stage.consumer.getone(timeout=1)).offset == 3


async def test_records_fetched_behind_damage_are_not_handed_out() -> None:
    """N17: the same, while the next Fetch waits at the broker."""
    shelf = shelf_with(b"lies")
    lie(shelf.logs[A])
    async with by_hand(shelf, A) as stage:
        await anyio.sleep(0.3)
        with pytest.raises(CorruptRecordError):
            await stage.consumer.getone(timeout=1)
        shelf.logs[A].end += 1
        shelf.fill(A, 3)
        await anyio.sleep(5)
        with pytest.raises(CorruptRecordError):
            await stage.consumer.getone(timeout=1)
        assert not stage.events(Delivered)


# -- N18, N22: what cannot be read here --------------------------------------------------------


async def test_a_codec_without_its_library_names_the_package_and_stops_one_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """N22."""
    shelf = Shelf(t=2)
    shelf.logs[A].put(encode_batch([NewRecord(None, b"packed")], codec=Codec.LZ4), 1)
    monkeypatch.setitem(sys.modules, "lz4.frame", None)
    async with by_hand(shelf, A, B) as stage:
        for _ in range(2):
            with pytest.raises(UnsupportedCodecError, match=r"t-0, lz4 .*pip install lz4"):
                await stage.consumer.getone(A, timeout=1)
        for offset in range(3):
            shelf.fill(B, 1)
            assert (await stage.consumer.getone(B, timeout=1)).offset == offset
        assert await stage.consumer.position(A) == 0
        monkeypatch.undo()
        stage.consumer.seek(A, 0)
        assert (await stage.consumer.getone(A, timeout=1)).value == b"packed"


# -- older formats -----------------------------------------------------------------------------


async def test_records_of_every_age_are_read_as_one_log() -> None:
    shelf = Shelf(t=1)
    log = shelf.logs[A]
    for first, end, data in (
        (0, 3, message_set(0, 0, 1, 2)),
        (3, 5, wrapper(0, 4, message_set(0, 3, 4))),
        (5, 7, wrapper(1, 6, message_set(1, 0, 1))),
        (7, 8, message_set(1, 7)),
    ):
        log.batches.append((first, end, data))
        log.end = end
    log.append(b"8")
    async with by_hand(shelf, A) as stage:
        batch = (await stage.consumer.getmany(timeout=1))[A]
        records = list(batch)
        assert [record.offset for record in records] == list(range(9))
        assert [record.timestamp for record in records] == [-1] * 5 + [1_000] * 3 + [-1]
        assert all(record.leader_epoch is None for record in records[:8])
        assert batch.values()[-2:] == [b"7", b"8"]
        stage.consumer.seek(A, 6)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [6, 7, 8]}


# -- N21: bombs --------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "reads"), [(2**20, False), (2**21, True)])
async def test_the_bound_of_decompressed_bytes_is_an_option(bound: int, reads: bool) -> None:
    shelf = shelf_with(b"first")
    large = [NewRecord(None, bytes(2**20 + 1))]
    shelf.logs[A].put(encode_batch(large, codec=Codec.GZIP), 1)
    async with by_hand(shelf, A, max_decompressed_bytes=bound) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        if reads:
            assert (await stage.consumer.getone(timeout=1)).offset == 1
            return
        with pytest.raises(CorruptRecordError, match=str(bound)):
            await stage.consumer.getone(timeout=PATIENCE)


async def test_a_log_of_emptied_batches_is_passed_through_to_its_first_record() -> None:
    """N20: and the position goes with it, so that it can be committed."""
    shelf = Shelf(t=1)
    log = shelf.logs[A]
    for _ in range(5):
        log.put(seal(BatchHeader(last_offset_delta=9), b""), 10)
    async with by_hand(shelf, A, max_partition_fetch_bytes=1) as stage:
        assert await stage.consumer.getmany(timeout=5) == {}
        assert await stage.consumer.position(A) == 50
        log.append(b"at last")
        assert (await stage.consumer.getone(timeout=1)).offset == 50
