"""`max_uncommitted` in loops: what lets a partition go on, and what a death repeats.

At no time are more records ahead of the position in the log than the bound, in whatever way one
reads; and no loop waits for an interval of auto-commit when what it has is done.
"""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from tests.consumer.marshal.claiming import (
    WAYS,
    A,
    Way,
    claiming,
    kafka,
    one_by_one,
    owns,
    records,
    said,
)
from tests.consumer.marshal.crew import crew, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

C = Consumer[Any, Any]

BOUND = 3
BY_HAND: dict[str, Any] = {"max_uncommitted": BOUND, "enable_auto_commit": False}


RECORDS, INTERVAL = 24, 1000.0


@dataclass
class Course:
    """What came of reading to the end.

    Args:
        seen: offsets, in order.
        most: records that would have come again at the worst moment.
    """

    seen: list[int]
    most: int = 0


async def course(broker: InProcessBroker, consumer: C, way: Way) -> Course:
    """Read all there is, and look into the log with each record in hand.

    Raises:
        TimeoutError: a record was waited for as if only the interval could bring it.
    """
    await owns(consumer, A)
    found = Course([])
    async with aclosing(way(consumer)) as offsets:
        while len(found.seen) < RECORDS:
            with anyio.fail_after(INTERVAL / 10):
                offset = await anext(offsets)
            position = said(broker, A, Kind.HEARTBEAT)[-1].message.tail
            found.seen.append(offset)
            found.most = max(found.most, offset + 1 - position)
    return found


@pytest.mark.parametrize("bound", [1, 5])
@pytest.mark.parametrize("way", WAYS)
async def test_done_records_of_a_held_back_partition_are_committed_at_once(
    way: Way, bound: int
) -> None:
    """However long `auto_commit_interval` is; and at no time more than the bound is ahead."""
    broker = kafka(records=RECORDS)
    async with claiming(broker, max_uncommitted=bound, auto_commit_interval=INTERVAL) as consumer:
        found = await course(broker, consumer, way)
    assert (found.seen, found.most) == ([*range(RECORDS)], bound)


@pytest.mark.parametrize("way", [one_by_one, records])
async def test_records_done_at_delivery_are_committed_at_once_too(way: Way) -> None:
    broker = kafka(records=RECORDS)
    options: dict[str, Any] = {"done_at": "delivery", "auto_commit_interval": INTERVAL}
    async with claiming(broker, max_uncommitted=BOUND, **options) as consumer:
        found = await course(broker, consumer, way)
    assert found.seen == [*range(RECORDS)]
    assert found.most <= BOUND


async def test_a_loop_that_commits_is_never_held_back_for_long() -> None:
    async with claiming(kafka(records=RECORDS), **BY_HAND) as consumer:
        await owns(consumer, A)
        seen: list[int] = []
        async for record in consumer:
            seen.append(record.offset)
            consumer.commit_soon(record)
            if len(seen) == RECORDS:
                break
        assert seen == [*range(RECORDS)]


async def test_a_loop_that_never_commits_waits_and_counts_as_polling() -> None:
    async with claiming(kafka(), max_poll_interval=20.0, **BY_HAND) as consumer:
        await owns(consumer, A)
        seen: list[int] = []
        with anyio.move_on_after(100.0):
            async for record in consumer:
                seen.append(record.offset)
        assert seen == [0, 1, 2]
        assert consumer.held_back() == consumer.assignment() == {A}


# -- a death -----------------------------------------------------------------------------------

STUCK, LATER = 7, 10_000


async def never_done(consumer: C, seen: list[int]) -> None:
    """Read on for ever, and be done with every record but one."""
    async for batch in consumer.batches():
        seen += [record.offset for record in batch]
        if batch.first <= STUCK < batch.next_offset:
            batch.done(STUCK)
            batch.release()
        else:
            batch.done()


async def test_the_bound_limits_the_records_repeated_after_a_death() -> None:
    """Scenario 25: without the bound 10,000 later ones are handed out, and come again."""
    bound, seen = 50, list[int]()
    async with crew(STUCK + 1 + LATER) as group:
        options = {"max_uncommitted": bound, "auto_commit_interval": 1.0, "max_poll_records": 8}
        first = group.enter(reads=False, enable_auto_commit=True, **options)
        await first.gained(0)
        with anyio.move_on_after(300.0):
            await never_done(first.consumer, seen)
        assert seen == [*range(STUCK + bound)]
        first.die()
        second = group.enter()
        await until(lambda: STUCK + LATER in second.offsets)
        assert second.offsets == [*range(STUCK, STUCK + 1 + LATER)]
        assert len(set(seen) & set(second.offsets)) == bound


async def test_reaching_the_bound_commits_earlier_done_records() -> None:
    options: dict[str, Any] = {"max_uncommitted": 5, "max_poll_records": 3}
    async with claiming(kafka(records=24), auto_commit_interval=INTERVAL, **options) as consumer:
        await owns(consumer, A)
        first, kept = consumer.batches(), consumer.batches()
        async with aclosing(first), aclosing(kept):
            (await anext(first)).done()
            assert [record.offset for record in await anext(kept)] == [3, 4]
            with anyio.fail_after(INTERVAL / 2):
                assert [record.offset for record in await anext(first)] == [5, 6, 7]
