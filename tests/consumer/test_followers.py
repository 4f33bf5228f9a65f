"""Fetching from the replica that a leader names, because it is in the same rack (KIP-392)."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.journal import FetchIssued, PositionMoved
from kgroup.wire.messages import (
    FetchableTopicResponse,
    FetchEpochEndOffset,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.consumer.entered import A, B, Stage, by_hand
from tests.consumer.shelf import Shelf, offsets_of
from tests.search.scripted.broker import Delayed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NEAR: dict[str, Any] = {"client_rack": "near", "metadata_max_age": 60.0, "fetch_max_wait": 0.1}
Rule = Callable[[FetchRequest], FetchResponse]


def shelf_of(records: int = 0) -> Shelf:
    """Return two brokers; 1 leads A and names 2, which has a replica, to consumers with a rack."""
    shelf = Shelf(brokers=2, t=2)
    shelf.topics["t"].partitions[A.partition].replicas = (1, 2)
    shelf.fill(A, records)
    shelf.broker(1).on(FetchRequest, lambda request: named(shelf, request))
    return shelf


def only(request: FetchRequest, code: int = 0, **fields: Any) -> FetchResponse:
    """Answer without records."""
    (topic,) = request.topics
    fields = {"error_code": code, "high_watermark": 0, "aborted_transactions": None, **fields}
    parts = [
        PartitionData(partition_index=row.partition, records=None, **fields)
        for row in topic.partitions
    ]
    row = FetchableTopicResponse(topic_id=topic.topic_id, partitions=tuple(parts))
    return FetchResponse(responses=(row,))


def named(shelf: Shelf, request: FetchRequest) -> Any:
    return only(request, preferred_read_replica=2) if request.rack_id else shelf.fetch(request)


def asked(stage: Stage) -> list[int]:
    """Return which brokers were asked for A, in order."""
    return [event.node_id for event in stage.events(FetchIssued) if event.claim.tp == A]


async def test_the_replica_that_a_leader_names_is_fetched_from() -> None:
    shelf = shelf_of(20)
    async with by_hand(shelf, A, **NEAR) as stage:
        await anyio.sleep(2.0)
        assert len(offsets_of(await stage.consumer.getmany(timeout=1))[A]) == 20
        assert asked(stage)[0] == 1
        assert set(asked(stage)[1:]) == {2}
    assert {request.rack_id for request in shelf.fetches} == {"near"}


async def test_without_a_rack_the_leader_is_asked() -> None:
    shelf = shelf_of(20)
    async with by_hand(shelf, A) as stage:
        assert (await stage.consumer.getone(timeout=1)).offset == 0
        assert set(asked(stage)) == {1}
    assert {request.rack_id for request in shelf.fetches} == {""}


@pytest.mark.slow
async def test_the_leader_is_asked_again_when_metadata_would_be_too_old() -> None:
    async with by_hand(shelf_of(), A, **NEAR) as stage:
        await anyio.sleep(130.0)
        assert 2 <= asked(stage).count(1) <= 3
        assert asked(stage).count(2) > 100


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REQUEST,
    ],
)
async def test_a_replica_that_refuses_is_left_and_nothing_is_reset(code: int) -> None:
    shelf = shelf_of(20)
    shelf.broker(2).on(FetchRequest, lambda request: only(request, code))
    async with by_hand(shelf, A, **NEAR) as stage:
        await anyio.sleep(0.5)
        shelf.broker(1).on(FetchRequest, shelf.fetch)
        assert (await stage.consumer.getone(timeout=5)).offset == 0
        assert len(stage.events(PositionMoved)) == 1
        assert asked(stage)[:2] == [1, 2]
        assert asked(stage)[-1] == 1
        assert len(asked(stage)) < 20


async def test_a_replica_that_lags_behind_is_no_truncation() -> None:
    shelf = shelf_of(20)
    behind = FetchEpochEndOffset(epoch=0, end_offset=5)
    async with by_hand(shelf, A, **NEAR) as stage:
        await anyio.sleep(1.0)
        shelf.broker(2).on(FetchRequest, lambda request: only(request, diverging_epoch=behind))
        shelf.broker(1).on(FetchRequest, shelf.fetch)
        await anyio.sleep(1.0)
        shelf.fill(A, 5)
        await anyio.sleep(1.0)
        assert len(offsets_of(await stage.consumer.getmany(timeout=1))[A]) == 20
        assert offsets_of(await stage.consumer.getmany(timeout=1)) == {A: [20, 21, 22, 23, 24]}
        assert len(stage.events(PositionMoved)) == 1


def dies(shelf: Shelf) -> None:
    shelf.broker(2).go_down()


def loses_its_replica(shelf: Shelf) -> None:
    shelf.topics["t"].partitions[A.partition].replicas = (1,)


def leaves_the_cluster(shelf: Shelf) -> None:
    shelf.listed = {1}


@pytest.mark.parametrize("happens", [dies, loses_its_replica, leaves_the_cluster])
async def test_a_replica_that_is_gone_is_left(happens: Callable[[Shelf], None]) -> None:
    shelf = shelf_of(5)
    async with by_hand(shelf, A, **NEAR | {"metadata_max_age": 5.0}) as stage:
        await anyio.sleep(1.0)
        assert len(offsets_of(await stage.consumer.getmany(timeout=1))[A]) == 5
        happens(shelf)
        shelf.broker(1).on(FetchRequest, shelf.fetch)
        await anyio.sleep(6.0)
        shelf.fill(A, 5)
        assert offsets_of(await stage.consumer.getmany(timeout=5)) == {A: [5, 6, 7, 8, 9]}
        assert asked(stage)[-1] == 1


async def test_a_replica_that_hangs_holds_up_no_other_partition() -> None:
    shelf = shelf_of(5)
    shelf.topics["t"].partitions[B.partition].leader = 1
    shelf.broker(1).on(FetchRequest, lambda request: by_partition(shelf, request))
    shelf.broker(2).mute = True
    # Without a group the broker that hangs is not asked for a coordinator.
    async with by_hand(shelf, A, B, **NEAR, group_id=None) as stage:
        await anyio.sleep(1.0)
        shelf.fill(B, 3)
        assert offsets_of(await stage.consumer.getmany(timeout=2)) == {B: [0, 1, 2]}


def by_partition(shelf: Shelf, request: FetchRequest) -> Any:
    """Name the replica for A, answer for what else is asked."""
    answer = only(request, preferred_read_replica=2)
    (topic,) = answer.responses
    parts = [part for part in topic.partitions if part.partition_index == A.partition]
    if not parts:
        return shelf.fetch(request)
    row = FetchableTopicResponse(topic_id=topic.topic_id, partitions=tuple(parts))
    return FetchResponse(responses=(row,))


async def test_a_leader_that_names_an_unknown_replica_is_asked_with_pauses() -> None:
    """A broker that has just come back is in its leader's mind before it is in metadata."""
    shelf = shelf_of(5)
    shelf.listed = {1}
    shelf.broker(1).on(FetchRequest, lambda request: bounded(shelf, named(shelf, request)))
    async with by_hand(shelf, A, **NEAR) as stage:
        await anyio.sleep(10.0)
        assert len(asked(stage)) < 30
        shelf.listed = {1, 2}
        assert len(offsets_of(await stage.consumer.getmany(timeout=5))[A]) == 5
        assert asked(stage)[-1] == 2


def bounded(shelf: Shelf, answer: FetchResponse) -> Any:
    """Keep a storm from lasting for ever: virtual time does not advance in it."""
    return Delayed(answer, 1.0) if len(shelf.fetches) > 200 else answer
