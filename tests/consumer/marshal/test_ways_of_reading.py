"""At most once, in every way of reading: a record is published before it is handed out.

A successor of a dead process must not read it again; so at each hand-out the last heartbeat in the
log, and the committed offset, are behind the record.
"""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import WAYS, A, Way, claiming, kafka, said

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

C = Consumer[Any, Any]
COUNT = 12


def in_batches() -> InProcessBroker:
    """Return a cluster whose twelve records are three batches of the log."""
    broker = kafka(records=4)
    for _ in range(2):
        fill(broker, A, 4)
    return broker


def is_published(broker: InProcessBroker, offset: int) -> bool:
    tail = said(broker, A, Kind.HEARTBEAT)[-1].message.tail
    return offset < tail and offset < broker.group("g").offsets[A].offset


async def read(
    broker: InProcessBroker, offsets: AsyncIterator[int], seen: list[int], enough: anyio.Event
) -> None:
    async for offset in offsets:
        assert is_published(broker, offset)
        seen.append(offset)
        if len(seen) == COUNT:
            enough.set()


@pytest.mark.parametrize("portion", [1, 3, 500])
@pytest.mark.parametrize("readers", [1, 2])
@pytest.mark.parametrize("way", WAYS)
async def test_every_handed_out_record_is_published_before(
    way: Way, readers: int, portion: int
) -> None:
    broker = in_batches()
    seen: list[int] = []
    enough = anyio.Event()
    options: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": portion}
    async with claiming(broker, **options) as consumer, anyio.create_task_group() as tasks:
        for _ in range(readers):
            tasks.start_soon(read, broker, way(consumer), seen, enough)
        with anyio.fail_after(120):
            await enough.wait()
        tasks.cancel_scope.cancel()
    assert sorted(seen) == [*range(COUNT)]


async def test_after_a_seek_a_loop_hands_out_the_records_admitted_there() -> None:
    broker = in_batches()
    options: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": 3}
    async with claiming(broker, **options) as consumer:
        reading = aiter(consumer)
        assert (await anext(reading)).offset == 0
        consumer.seek(A, 7)
        for expected in range(7, COUNT):
            assert (await anext(reading)).offset == expected
            assert is_published(broker, expected)
        await reading.aclose()
