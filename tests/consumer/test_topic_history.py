"""Topics that are made anew, deleted, or given more partitions while they are read."""

from typing import Any

import anyio
import pytest

from kgroup.journal import PositionMove, PositionMoved
from kgroup.wire.messages import ListOffsetsRequest, MetadataRequest, OffsetFetchRequest
from tests.consumer.entered import A, C, Stage, by_hand, entered
from tests.consumer.shelf import Shelf, offsets_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOON: dict[str, Any] = {"metadata_max_age": 1.0, "fetch_max_wait": 0.1}


def moves(stage: Stage) -> list[tuple[int, PositionMove]]:
    return [(event.offset, event.move) for event in stage.events(PositionMoved)]


# -- made anew (KIP-516) -----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
async def test_a_topic_made_anew_is_read_from_its_beginning(
    policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A, auto_offset_reset=policy, **SOON) as stage:
        stage.consumer.seek(A, 4)
        await anyio.sleep(1.0)
        assert (await stage.consumer.getone(timeout=1)).offset == 4
        shelf.recreate("t", 1)
        shelf.fill(A, 7)
        await anyio.sleep(3.0)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: list(range(7))}
        assert moves(stage)[-1] == (0, PositionMove.RECREATED)
    said = [each.getMessage() for each in caplog.records if "made anew" in each.getMessage()]
    assert len(said) == 1
    assert "t-0" in said[0]


async def test_a_broker_that_has_not_heard_of_the_new_topic_starts_nothing_anew() -> None:
    """1. Metadata shows the new topic; 2. a broker that lags behind tells of the former one."""
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    former = shelf.topics["t"]
    async with by_hand(shelf, A, **SOON) as stage:
        assert len(offsets_of(await stage.consumer.getmany(timeout=1))[A]) == 10
        shelf.recreate("t", 1)
        shelf.fill(A, 7)
        await anyio.sleep(3.0)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: list(range(7))}
        present, shelf.topics["t"] = shelf.topics["t"], former
        await anyio.sleep(3.0)
        shelf.topics["t"] = present
        shelf.fill(A, 3)
        await anyio.sleep(3.0)
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [7, 8, 9]}
        assert moves(stage) == [(0, PositionMove.RESET), (0, PositionMove.RECREATED)]


async def test_the_position_of_a_former_topic_is_not_committed_for_the_new_one() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with by_hand(shelf, A, auto_commit_interval=0.5, **SOON) as stage:
        await anyio.sleep(1.0)
        await stage.consumer.getmany(max_records=6, timeout=1)
        await stage.consumer.commit()
        assert shelf.committed[A] == 6
        shelf.recreate("t", 1)
        await anyio.sleep(3.0)
        assert shelf.committed[A] == 0
        assert await stage.consumer.position(A) == 0


async def test_seek_to_committed_ignores_commits_of_a_former_topic() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.committed[A] = 6
    async with by_hand(shelf, A, enable_auto_commit=False, **SOON) as stage:
        assert await stage.consumer.position(A) == 6
        await anyio.sleep(1.0)
        shelf.recreate("t", 1)
        shelf.fill(A, 9)
        await anyio.sleep(3.0)
        await stage.consumer.seek_to_committed(A)
        assert await stage.consumer.position(A) == 0
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: list(range(9))}
        await stage.consumer.commit()
        stage.consumer.seek(A, 2)
        await stage.consumer.seek_to_committed(A)
        assert await stage.consumer.position(A) == 9


async def test_an_answer_about_a_former_topic_s_commits_is_dropped() -> None:
    shelf = Shelf(brokers=2, t=1)
    shelf.coordinator = 2
    shelf.fill(A, 10)
    shelf.committed[A] = 6
    held = shelf.broker(2).hold(OffsetFetchRequest)
    async with by_hand(shelf, A, request_timeout=120.0, **SOON) as stage:
        await anyio.sleep(20.0)
        assert isinstance(held.asked, OffsetFetchRequest)
        shelf.recreate("t", 1)
        shelf.fill(A, 9)
        await anyio.sleep(20.0)
        held.release(shelf.offset_fetch(held.asked))
        assert (await stage.consumer.getone(timeout=5)).offset == 0
        assert moves(stage) == [(0, PositionMove.RECREATED)]


async def test_a_claim_taken_after_the_topic_was_made_anew_begins_at_its_beginning() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    async with entered(shelf, auto_offset_reset="latest", **SOON) as stage:
        await stage.give(A)
        await anyio.sleep(1.0)
        stage.group.take_away(A)
        await anyio.sleep(0.1)
        shelf.recreate("t", 1)
        stage.group.offsets.clear()  # brokers forget what was committed for a deleted topic
        shelf.fill(A, 3)
        await anyio.sleep(2.0)
        await stage.give(A)
        assert await stage.consumer.position(A) == 0


# -- deleted -----------------------------------------------------------------------------------


async def test_a_topic_that_is_deleted_waits_quietly_and_the_others_go_on() -> None:
    shelf = Shelf(brokers=2, t=2, gone=1)
    gone = type(A)("gone", 0)
    shelf.fill(gone, 3)
    shelf.fill(A, 3)
    async with by_hand(shelf, A, gone, metadata_max_age=300.0, fetch_max_wait=5.0) as stage:
        await anyio.sleep(1.0)
        assert set(offsets_of(await stage.consumer.getmany(timeout=1))) == {A, gone}
        deleted = shelf.topics.pop("gone")
        await anyio.sleep(300.0)
        metadata = sum(len(each.requests(MetadataRequest)) for each in shelf.brokers)
        fetches = asked_for(shelf, deleted.topic_id)
        await anyio.sleep(600.0)
        assert sum(len(each.requests(MetadataRequest)) for each in shelf.brokers) - metadata <= 40
        assert asked_for(shelf, deleted.topic_id) == fetches
        shelf.fill(A, 2)
        assert offsets_of(await stage.consumer.getmany(timeout=10)) == {A: [3, 4]}
        with pytest.raises(TimeoutError):
            await stage.consumer.getone(gone, timeout=1)


def asked_for(shelf: Shelf, topic_id: bytes) -> int:
    return sum(topic.topic_id == topic_id for each in shelf.fetches for topic in each.topics)


async def test_a_topic_that_comes_back_goes_on() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 3)
    async with by_hand(shelf, A, **SOON) as stage:
        await anyio.sleep(1.0)
        await stage.consumer.getmany(timeout=1)
        shelf.topics.pop("t")
        await anyio.sleep(30.0)
        shelf.recreate("t", 1)
        shelf.fill(A, 2)
        assert offsets_of(await stage.consumer.getmany(timeout=20)) == {A: [0, 1]}


async def test_a_position_that_is_not_known_says_that_the_topic_is_gone() -> None:
    shelf = Shelf(t=1)
    async with by_hand(shelf, A, **SOON) as stage:
        shelf.broker(1).on(ListOffsetsRequest, refused)
        await anyio.sleep(1.0)
        shelf.topics.pop("t")
        with pytest.raises(TimeoutError, match="there is no such topic"):
            await stage.consumer.position(A, timeout=10)


def refused(request: ListOffsetsRequest) -> Any:
    log = Shelf(t=1)
    log.logs[A].error = 3
    return log.list_offsets(request)


# -- more partitions ---------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
async def test_a_partition_added_later_is_read_from_its_beginning(policy: str) -> None:
    shelf = Shelf(t=2)
    shelf.fill(A, 5)
    async with entered(shelf, auto_offset_reset=policy, **SOON) as stage:
        stage.group.offsets[A] = 5
        await stage.give(A)
        await anyio.sleep(1.0)
        shelf.add_partitions("t", 1)
        shelf.fill(C, 4)
        await anyio.sleep(2.0)
        await stage.give(C)
        assert offsets_of(await stage.consumer.getmany(timeout=2)) == {C: [0, 1, 2, 3]}
        assert (0, PositionMove.RESET) in moves(stage)


async def test_a_partition_that_was_there_goes_by_the_policy() -> None:
    shelf = Shelf(t=3)
    shelf.fill(C, 4)
    async with entered(shelf, auto_offset_reset="latest", **SOON) as stage:
        await stage.give(C)
        assert await stage.consumer.position(C) == 4


async def test_a_partition_added_later_with_a_commit_begins_there() -> None:
    shelf = Shelf(t=2)
    async with entered(shelf, **SOON) as stage:
        await stage.give(A)
        await anyio.sleep(1.0)
        shelf.add_partitions("t", 1)
        shelf.fill(C, 4)
        stage.group.offsets[C] = 3
        await anyio.sleep(2.0)
        await stage.give(C)
        assert await stage.consumer.position(C) == 3


async def test_a_topic_that_was_waited_for_is_read_from_its_beginning() -> None:
    shelf = Shelf()
    async with by_hand(shelf, A, auto_offset_reset="latest", **SOON) as stage:
        await anyio.sleep(3.0)
        shelf.add_topic("t", 1)
        shelf.fill(A, 4)
        assert (await stage.consumer.getone(timeout=10)).offset == 0
