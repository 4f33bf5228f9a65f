"""A log that lost records which were read is noticed before anything else is read (KIP-320).

Symptom: kafka-python issue 3106. A validation that stayed open stopped all fetching.
Requirement: a partition that awaits validation is asked about with growing pauses, says so, and
delays no other; lost records are never skipped silently.
"""

from typing import Any

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import LogTruncatedError
from kgroup.journal import PositionMove, PositionMoved
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    FetchableTopicResponse,
    FetchLeaderIdAndEpoch,
    FetchNodeEndpoint,
    FetchRequest,
    FetchResponse,
    OffsetForLeaderEpochRequest,
    PartitionData,
)
from tests.consumer.entered import A, B, Stage, by_hand, entered
from tests.consumer.shelf import Shelf, offsets_of
from tests.search.scripted.broker import Delayed, Rule

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOON: dict[str, Any] = {"fetch_max_wait": 0.1, "metadata_max_age": 1.0}


def shelf_of(*epochs: int, brokers: int = 2) -> Shelf:
    """Return brokers with one batch of ten records per epoch in A, the last one that leads."""
    shelf = Shelf(brokers=brokers, t=2)
    for epoch in epochs:
        shelf.logs[A].append(*(b"%d" % n for n in range(10)), epoch=epoch)
    shelf.topics["t"].partitions[A.partition].epoch = epochs[-1] if epochs else 0
    return shelf


def elect(shelf: Shelf, node_id: int, *, keep: int, write: int = 0) -> None:
    """Make a broker leader of A whose log ends at `keep`; others write to it at once."""
    shelf.logs[A].truncate(keep)
    shelf.move_leader(A, node_id)
    if write:
        shelf.logs[A].append(*[b"new"] * write, epoch=shelf.epoch(A))


def asked(shelf: Shelf) -> list[OffsetForLeaderEpochRequest]:
    return [r for each in shelf.brokers for r in each.requests(OffsetForLeaderEpochRequest)]


def moves(stage: Stage) -> list[tuple[int, PositionMove]]:
    return [(event.offset, event.move) for event in stage.events(PositionMoved)][1:]


async def read_all(stage: Stage) -> dict[TopicPartition, list[int]]:
    await anyio.sleep(3.0)
    return offsets_of(await stage.consumer.getmany(timeout=5))


async def test_a_new_leader_that_agrees_is_asked_once_and_reading_goes_on() -> None:
    shelf = shelf_of(0)
    async with by_hand(shelf, A, **SOON) as stage:
        assert len((await read_all(stage))[A]) == 10
        elect(shelf, 2, keep=10, write=5)
        assert (await read_all(stage))[A] == list(range(10, 15))
        (question,) = asked(shelf)
        (row,) = question.topics[0].partitions
        assert (question.replica_id, row.leader_epoch, row.current_leader_epoch) == (-1, 0, 1)
        assert moves(stage) == []


async def test_after_a_truncation_reading_goes_on_where_the_logs_part(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, auto_offset_reset="latest", **SOON) as stage:
        stage.consumer.seek(A, 0)
        assert len((await read_all(stage))[A]) == 20
        elect(shelf, 2, keep=10, write=30)
        assert (await read_all(stage))[A] == list(range(10, 40))
        assert moves(stage)[-1] == (10, PositionMove.TRUNCATED)
    said = [each.getMessage() for each in caplog.records if "truncated" in each.getMessage()]
    lost = "partition=t-0 offset=20: the log was truncated, records that were read are gone"
    assert said == [f"{lost}; reading goes on at offset 10"]


async def test_without_a_policy_every_read_says_so_until_a_seek() -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, auto_offset_reset="none", **SOON) as stage:
        stage.consumer.seek(A, 10)
        await read_all(stage)
        elect(shelf, 2, keep=10, write=5)
        await anyio.sleep(3.0)
        for _ in range(2):
            with pytest.raises(LogTruncatedError) as caught:
                await stage.consumer.getmany(timeout=5)
            error = caught.value
            found = (error.tp, error.position, error.leader_epoch, error.diverged_at)
            assert found == (A, 20, 0, 10)
        with pytest.raises(LogTruncatedError):
            await stage.consumer.position(A, timeout=1)
        stage.consumer.seek(A, 12)
        assert (await read_all(stage))[A] == [12, 13, 14]


async def test_truncated_records_that_were_only_fetched_are_fetched_anew_silently() -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, auto_offset_reset="none", **SOON) as stage:
        stage.consumer.seek(A, 0)
        first = await stage.consumer.getmany(max_records=4, timeout=5)
        assert offsets_of(first) == {A: [0, 1, 2, 3]}
        elect(shelf, 2, keep=10, write=3)
        await anyio.sleep(3.0)
        again = await stage.consumer.getmany(timeout=5)
        values = [(record.offset, record.value) for record in again[A]]
        assert values == [
            *((n, b"%d" % n) for n in range(4, 10)),
            *((n, b"new") for n in (10, 11, 12)),
        ]
        assert moves(stage) == []


async def test_an_epoch_no_leader_knows_goes_by_the_policy() -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, auto_offset_reset="latest", **SOON) as stage:
        stage.consumer.seek(A, 0)
        await read_all(stage)
        shelf.logs[A].forgets_epochs = True
        elect(shelf, 2, keep=20, write=3)
        await anyio.sleep(3.0)
        assert await stage.consumer.position(A) == 23
        assert moves(stage)[-1] == (23, PositionMove.TRUNCATED)


async def test_a_fetch_that_finds_the_logs_part_needs_no_question() -> None:
    """The leader lost records without another election: only Fetch can tell (version 12)."""
    shelf = shelf_of(1, 2)
    async with by_hand(shelf, A, **SOON) as stage:
        await read_all(stage)
        before = len(asked(shelf))
        shelf.logs[A].truncate(10)
        await anyio.sleep(1.0)
        shelf.logs[A].append(b"new", epoch=2)
        assert (await read_all(stage))[A] == [10]
        assert moves(stage) == [(10, PositionMove.TRUNCATED)]
        assert len(asked(shelf)) == before


async def test_an_epoch_without_records_is_no_truncation() -> None:
    """1. The end is found under epoch 5. 2. Epoch 6 begins before a record is written."""
    shelf = shelf_of(4)
    async with by_hand(shelf, A, auto_offset_reset="none", **SOON) as stage:
        stage.consumer.seek(A, OffsetAndMetadata(10, "", 5))
        shelf.topics["t"].partitions[0].epoch = 6
        await anyio.sleep(3.0)
        shelf.logs[A].append(b"next", epoch=6)
        assert (await read_all(stage))[A] == [10]


async def test_a_committed_offset_with_an_epoch_is_validated_before_it_is_fetched_from() -> None:
    shelf = shelf_of(3, 3)
    shelf.committed[A], shelf.committed_epochs[A] = 20, 3
    elect(shelf, 2, keep=10, write=20)
    async with by_hand(shelf, A, **SOON) as stage:
        assert (await read_all(stage))[A] == list(range(10, 30))
        assert (10, PositionMove.TRUNCATED) in [
            (e.offset, e.move) for e in stage.events(PositionMoved)
        ]
        assert min(row.fetch_offset for f in shelf.fetches for row in f.topics[0].partitions) == 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH, -1]
)
async def test_a_failing_validation_is_repeated_slowly_and_delays_no_other_partition(
    code: int,
) -> None:
    shelf = shelf_of(0)
    shelf.topics["t"].partitions[B.partition].leader = 1
    async with by_hand(shelf, A, B, **SOON) as stage:
        await read_all(stage)
        elect(shelf, 1, keep=10, write=1)
        shelf.logs[A].error = code
        await anyio.sleep(1.5)
        shelf.fill(B, 7)
        assert (await read_all(stage))[B] == list(range(7))
        with pytest.raises(TimeoutError, match="awaiting validation, OFFSET_FOR_LEADER_EPOCH: "):
            await stage.consumer.position(A, timeout=20)
        assert 3 < len(asked(shelf)) < 40
        shelf.logs[A].error = 0
        assert (await read_all(stage))[A] == [10]


async def test_a_leader_without_an_answer_about_epochs_delays_no_other_partition() -> None:
    shelf = shelf_of(0)
    async with by_hand(shelf, A, B, request_timeout=5.0, **SOON) as stage:
        await read_all(stage)
        silent = shelf.broker(1).hold(OffsetForLeaderEpochRequest)
        elect(shelf, 1, keep=10, write=1)
        await anyio.sleep(1.5)
        assert silent.asked is not None
        shelf.fill(B, 7)
        assert (await read_all(stage))[B] == list(range(7))


async def test_a_broker_that_is_too_old_to_tell_is_not_asked() -> None:
    shelf = shelf_of(0)
    for broker in shelf.brokers:
        old = {ApiKey.OFFSET_FOR_LEADER_EPOCH: (0, 2), ApiKey.FETCH: (4, 11)}
        broker.versions = {**broker.versions, **old}
    async with by_hand(shelf, A, **SOON) as stage:
        await read_all(stage)
        elect(shelf, 2, keep=10, write=5)
        assert (await read_all(stage))[A] == list(range(10, 15))
        assert asked(shelf) == []


async def test_nothing_is_fetched_from_a_new_leader_before_it_has_confirmed_the_position() -> None:
    """Fetch before version 12 would find nothing wrong at an offset that others have filled."""
    shelf = shelf_of(0, 0)
    for broker in shelf.brokers:
        broker.versions = {**broker.versions, ApiKey.FETCH: (4, 11)}
    async with by_hand(shelf, A, fetch_max_wait=20.0, metadata_max_age=1.0) as stage:
        await read_all(stage)
        elect(shelf, 2, keep=10, write=30)
        assert (await read_all(stage))[A] == list(range(10, 40))
        kinds = (FetchRequest, OffsetForLeaderEpochRequest)
        asked_of_2 = [e.request for e in shelf.broker(2).seen if isinstance(e.request, kinds)]
        assert isinstance(asked_of_2[0], OffsetForLeaderEpochRequest)


async def test_a_seek_in_the_middle_of_a_validation_wins() -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, **SOON) as stage:
        await read_all(stage)
        held = shelf.broker(2).hold(OffsetForLeaderEpochRequest)
        elect(shelf, 2, keep=10, write=10)
        await anyio.sleep(1.5)
        assert held.asked is not None
        stage.consumer.seek(A, 15)
        held.release(shelf.epoch_ends(asked(shelf)[0]))
        assert (await read_all(stage))[A] == [15, 16, 17, 18, 19]


async def test_a_claim_that_ends_in_the_middle_of_a_validation_is_left_alone() -> None:
    shelf = shelf_of(0, 0)
    async with entered(shelf, **SOON) as stage:
        await stage.give(A)
        await read_all(stage)
        held = shelf.broker(2).hold(OffsetForLeaderEpochRequest)
        elect(shelf, 2, keep=10, write=10)
        await anyio.sleep(1.5)
        assert held.asked is not None
        stage.group.lose()
        await anyio.sleep(0.1)
        held.release(shelf.epoch_ends(asked(shelf)[0]))
        await anyio.sleep(1.0)
        assert moves(stage) == []


# -- leaders named in answers (KIP-951) --------------------------------------------------------


def naming(shelf: Shelf, node_id: int, epoch: int, *, endpoint: bool) -> Rule:
    """Answer that A is led by another broker under an epoch; when that is newer, it is true."""
    broker = shelf.broker(node_id)
    row = FetchNodeEndpoint(node_id=node_id, host=broker.host, port=broker.port)

    def answer(request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        if epoch > shelf.epoch(A):
            shelf.move_leader(A, node_id)
        part = PartitionData(
            partition_index=A.partition,
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            high_watermark=-1,
            current_leader=FetchLeaderIdAndEpoch(leader_id=node_id, leader_epoch=epoch),
            aborted_transactions=None,
            records=None,
        )
        topic_row = FetchableTopicResponse(topic_id=topic.topic_id, partitions=(part,))
        return FetchResponse(responses=(topic_row,), node_endpoints=(row,) if endpoint else ())

    return answer


@pytest.mark.parametrize("endpoint", [True, False])
async def test_a_leader_that_an_answer_names_is_asked_at_once(endpoint: bool) -> None:
    shelf = shelf_of(0)
    shelf.listed = {1} if endpoint else {1, 2}
    shelf.broker(1).on(FetchRequest, naming(shelf, 2, 1, endpoint=endpoint))
    async with by_hand(shelf, A, retry_backoff=3.0, retry_backoff_max=3.0) as stage:
        await stage.consumer.position(A)
        before = anyio.current_time()
        assert (await stage.consumer.getone(timeout=10)).offset == 0
        assert anyio.current_time() - before < 1.0
        assert shelf.broker(2).requests(FetchRequest)


async def test_a_leader_of_an_older_epoch_is_not_believed() -> None:
    shelf = shelf_of(3)
    shelf.broker(1).once(FetchRequest, naming(shelf, 2, 2, endpoint=True))
    async with by_hand(shelf, A, retry_backoff=0.5) as stage:
        assert (await stage.consumer.getone(timeout=10)).offset == 0
        assert not shelf.broker(2).requests(FetchRequest)


async def test_a_leader_without_an_address_is_looked_for() -> None:
    shelf = shelf_of(0)
    shelf.listed = {1}
    shelf.broker(1).once(FetchRequest, naming(shelf, 2, 1, endpoint=False))
    async with by_hand(shelf, A, retry_backoff=0.5) as stage:
        with pytest.raises(TimeoutError):
            await stage.consumer.getone(timeout=3)
        shelf.listed = {1, 2}
        assert (await stage.consumer.getone(timeout=10)).offset == 0


async def test_a_truncation_behind_the_position_is_no_loss() -> None:
    shelf = shelf_of(0, 0)
    async with by_hand(shelf, A, auto_offset_reset="none", **SOON) as stage:
        stage.consumer.seek(A, 0)
        await anyio.sleep(1.0)
        assert len((await stage.consumer.getmany(max_records=10, timeout=1))[A]) == 10
        elect(shelf, 2, keep=10, write=5)
        assert (await read_all(stage))[A] == list(range(10, 15))


# -- answers that come at a bad moment ---------------------------------------------------------


async def test_an_answer_that_comes_during_validation_is_not_kept_twice() -> None:
    """1. A Fetch is on its way; 2. another leader is elected; 3. the former one answers."""
    shelf = shelf_of(0)
    async with by_hand(shelf, A, **SOON) as stage:
        assert len((await read_all(stage))[A]) == 10
        shelf.logs[A].append(*[b"new"] * 5)
        shelf.broker(1).on(FetchRequest, lambda request: later(shelf.fetch(request), 3.0))
        await anyio.sleep(0.5)
        shelf.broker(2).on(
            OffsetForLeaderEpochRequest, lambda request: later(shelf.epoch_ends(request), 6.0)
        )
        shelf.move_leader(A, 2)
        await anyio.sleep(20.0)
        assert (await read_all(stage))[A] == list(range(10, 15))
        assert await stage.consumer.getmany(timeout=1) == {}


def later(answer: Any, seconds: float) -> Delayed:
    return Delayed(answer.message if isinstance(answer, Delayed) else answer, seconds)


async def test_a_leader_with_an_older_epoch_is_not_asked_to_validate() -> None:
    """1. Another member reads under epoch 1 and commits; 2. we take over, and know epoch 0."""
    shelf = shelf_of(0)
    async with by_hand(shelf, A, auto_offset_reset="latest", **SOON) as stage:
        await anyio.sleep(1.0)
        stage.consumer.seek(A, OffsetAndMetadata(8, "", 1))
        await anyio.sleep(3.0)
        assert asked(shelf) == []
        elect(shelf, 2, keep=10, write=2)
        assert (await read_all(stage))[A] == [8, 9, 10, 11]
        assert PositionMove.TRUNCATED not in [move for _, move in moves(stage)]


@pytest.mark.slow
async def test_an_epoch_that_no_leader_ever_had_is_waited_for_a_bounded_time() -> None:
    shelf = shelf_of(0)
    async with by_hand(shelf, A, **SOON) as stage:
        await anyio.sleep(1.0)
        stage.consumer.seek(A, OffsetAndMetadata(8, "", 99))
        await anyio.sleep(60.0)
        assert (await read_all(stage))[A] == list(range(10))
        assert moves(stage)[-1] == (0, PositionMove.TRUNCATED)
