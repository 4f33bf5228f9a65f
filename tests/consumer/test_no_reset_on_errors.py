"""A position is reset only when there is no offset to go on with, never after an error.

Symptom: platformatic/kafka issue 267. An error of OffsetFetch fell through to "latest", and
everything written since the last commit was skipped.
Requirement: `auto_offset_reset` acts only on a successful "no committed offset" and on a true out
of range; every error code is asked again or raised.
"""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.journal import PositionMoved
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    ListOffsetsRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.consumer.entered import A, by_hand
from tests.consumer.shelf import Shelf

pytestmark = pytest.mark.anyio

_ERRORS = [code for code in ErrorCode if code is not ErrorCode.NONE]
_FAST = {"request_timeout": 2.0, "retry_backoff": 0.05, "retry_backoff_max": 0.1}


def _refused(row: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=row.partition_index,
        committed_offset=-1,
        metadata="",
        error_code=_ERRORS[row.partition_index],
    )


@pytest.mark.slow
async def test_no_error_for_the_group_resets_a_position() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.committed[A] = 4
    code = _ERRORS[0]

    def failing(request: OffsetFetchRequest) -> OffsetFetchResponse:
        (group,) = request.groups
        failed = OffsetFetchResponseGroup(group_id=group.group_id, topics=(), error_code=code)
        return OffsetFetchResponse(groups=(failed,))

    shelf.broker(1).on(OffsetFetchRequest, failing)
    async with by_hand(shelf, A, auto_offset_reset="latest", **_FAST) as stage:
        for code in _ERRORS:
            asked = len(shelf.broker(1).requests(OffsetFetchRequest))
            await anyio.sleep(1)
            assert len(shelf.broker(1).requests(OffsetFetchRequest)) > asked, code.name
            assert not stage.events(PositionMoved), code.name
        shelf.broker(1).on(OffsetFetchRequest, shelf.offset_fetch)
        await anyio.sleep(3)
        assert (await stage.consumer.getone(timeout=5)).offset == 4


@pytest.mark.slow
async def test_no_error_for_a_partition_resets_its_position() -> None:
    shelf = Shelf(t=len(_ERRORS))
    tps = [TopicPartition("t", number) for number in range(len(_ERRORS))]
    for tp in tps:
        shelf.fill(tp, 10)
        shelf.committed[tp] = 4
    failing = set(range(len(tps)))

    def answer(request: OffsetFetchRequest) -> OffsetFetchResponse:
        (group,) = shelf.offset_fetch(request).groups
        (topic,) = group.topics
        rows = tuple(
            _refused(row) if row.partition_index in failing else row for row in topic.partitions
        )
        topics = (OffsetFetchResponseTopics(name=topic.name, partitions=rows),)
        return OffsetFetchResponse(
            groups=(OffsetFetchResponseGroup(group_id=group.group_id, topics=topics),)
        )

    shelf.broker(1).on(OffsetFetchRequest, answer)
    async with by_hand(shelf, *tps, auto_offset_reset="latest", **_FAST) as stage:
        await anyio.sleep(5)
        assert not stage.events(PositionMoved)
        failing.clear()
        await anyio.sleep(5)
        assert [await stage.consumer.position(tp, timeout=5) for tp in tps] == [4] * len(tps)
        assert not shelf.broker(1).requests(ListOffsetsRequest)


@pytest.mark.slow
async def test_no_error_of_fetch_but_out_of_range_resets_a_position() -> None:
    harmless = [code for code in _ERRORS if code is not ErrorCode.OFFSET_OUT_OF_RANGE]
    shelf = Shelf(t=len(harmless))
    tps = [TopicPartition("t", number) for number in range(len(harmless))]
    for tp in tps:
        shelf.fill(tp, 10)
        shelf.committed[tp] = 4
    async with by_hand(shelf, *tps, auto_offset_reset="latest", **_FAST) as stage:
        for tp in tps:
            await stage.consumer.position(tp)
        for tp, code in zip(tps, harmless, strict=True):
            shelf.logs[tp].error = code
        await anyio.sleep(5)
        assert not stage.events(PositionMoved)
        assert not shelf.broker(1).requests(ListOffsetsRequest)


async def test_a_true_out_of_range_resets_by_policy() -> None:
    shelf = Shelf(t=1)
    shelf.fill(A, 10)
    shelf.logs[A].start = 6
    shelf.committed[A] = 4
    async with by_hand(shelf, A, auto_offset_reset="latest", **_FAST) as stage:
        await anyio.sleep(1)
        assert [event.offset for event in stage.events(PositionMoved)] == [10]
