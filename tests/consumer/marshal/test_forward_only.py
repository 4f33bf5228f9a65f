"""At most once, a log without the position: no reset repeats records."""

from typing import Any

import pytest

from kgroup.codes import ErrorCode
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import FetchRequest
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import A, claiming, gives, kafka

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ONCE: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": 25}
COUNT = 50
"""Records of the partition; the log of claims is shorter all the while."""


def says_out_of_range(broker: InProcessBroker, offset: int) -> None:
    """Refuse the next fetch of the partition from an offset on."""

    def from_there(asked: FetchRequest) -> bool:
        rows = [row for topic in asked.topics for row in topic.partitions]
        return any(row.fetch_offset == offset for row in rows)

    broker.answers.error(FetchRequest, ErrorCode.OFFSET_OUT_OF_RANGE, where=from_there)


async def test_out_of_range_at_most_once_moves_no_position_back() -> None:
    broker = kafka(records=COUNT)
    says_out_of_range(broker, COUNT)
    async with claiming(broker, **ONCE) as consumer:
        assert await gives(consumer, COUNT) == [*range(COUNT)]
        fill(broker, A, 3)
        assert await gives(consumer, 3) == [50, 51, 52]


async def test_a_log_that_lost_its_end_is_read_on_from_there() -> None:
    broker = kafka(records=COUNT)
    async with claiming(broker, **ONCE) as consumer:
        assert await gives(consumer, COUNT) == [*range(COUNT)]
        says_out_of_range(broker, COUNT)
        broker.partition(*A).truncate(40)
        fill(broker, A, 3)
        assert await gives(consumer, 3) == [40, 41, 42]


async def test_at_least_once_the_policy_decides() -> None:
    broker = kafka(records=COUNT)
    says_out_of_range(broker, COUNT)
    async with claiming(broker) as consumer:
        assert await gives(consumer, COUNT + 3) == [*range(COUNT), 0, 1, 2]
