"""Committed offsets that are not stable yet, because a transaction is open (KIP-447)."""

from dataclasses import dataclass

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import OffsetAndMetadata
from kgroup.wire.messages import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.consumer.entered import A, B, by_hand
from tests.consumer.shelf import Shelf
from tests.search.scripted.broker import Answer

pytestmark = pytest.mark.anyio


@dataclass
class Undecided:
    """A transaction that holds back the committed offset of partition 0 until it ends."""

    shelf: Shelf
    open: bool = True

    def __call__(self, request: OffsetFetchRequest) -> Answer:
        (group,) = self.shelf.offset_fetch(request).groups
        topics = tuple(
            OffsetFetchResponseTopics(
                name=topic.name, partitions=tuple(map(self._row, topic.partitions))
            )
            for topic in group.topics
        )
        found = OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)
        return OffsetFetchResponse(groups=(found,))

    def _row(self, row: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartitions:
        if not self.open or row.partition_index != A.partition:
            return row
        return OffsetFetchResponsePartitions(
            partition_index=row.partition_index,
            committed_offset=-1,
            metadata="",
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
        )


def undecided() -> tuple[Shelf, Undecided]:
    shelf = Shelf(t=2)
    for tp, offset in ((A, 3), (B, 4)):
        shelf.fill(tp, 10)
        shelf.committed[tp] = offset
    rule = Undecided(shelf)
    shelf.broker(1).on(OffsetFetchRequest, rule)
    return shelf, rule


async def test_a_partition_that_awaits_a_transaction_delays_no_other() -> None:
    shelf, transaction = undecided()
    async with by_hand(shelf, A, B) as stage:
        assert (await stage.consumer.getone(timeout=1)).tp == B
        with pytest.raises(TimeoutError, match="no stable offset"):
            await stage.consumer.position(A, timeout=2)
        transaction.open = False
        assert await stage.consumer.position(A, timeout=2) == 3


async def test_unstable_offsets_are_asked_for_with_pauses() -> None:
    shelf, _ = undecided()
    async with by_hand(shelf, A, B, retry_backoff=0.1, retry_backoff_max=1.0) as stage:
        await anyio.sleep(20)
        asked = len(shelf.broker(1).requests(OffsetFetchRequest))
        assert 15 <= asked <= 30
        assert stage.consumer.assignment() == {A, B}


async def test_committed_waits_until_all_offsets_are_stable() -> None:
    shelf, transaction = undecided()
    async with by_hand(shelf, A, B) as stage:
        with pytest.raises(TimeoutError):
            await stage.consumer.committed(A, B, timeout=2)
        transaction.open = False
        found = await stage.consumer.committed(A, B, timeout=2)
        assert found == {A: OffsetAndMetadata(3), B: OffsetAndMetadata(4)}
