"""A good end on a real broker repeats nothing: `async with` left without an exception."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from kgroup import Consumer, sync
from kgroup.testing.kafka import RealKafka
from kgroup.types import TopicPartition
from tests.real.ground import Ground, committed, fresh, lay_ground

pytestmark = pytest.mark.real

RECORDS = 100
"""In each of two partitions."""

Place = tuple[TopicPartition, int]


def options(ground: Ground, group: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": ground.kafka.bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "max_poll_records": 7,
        **more,
    }


async def read_some(ground: Ground, group: str, count: int, **more: Any) -> Sequence[Place]:
    """Read by `getmany`, and end between two reads."""
    found: list[Place] = []
    async with Consumer(ground.topic, **options(ground, group, **more)) as consumer:
        while len(found) < count:
            for batch in (await consumer.getmany(timeout=1.0)).values():
                found += [(record.tp, record.offset) for record in batch]
    return found


async def test_each_member_of_a_row_goes_on_where_the_one_before_ended(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 2), fresh("good-end")
    await ground.fill(RECORDS)
    found: list[Place] = []
    for instance in (None, "static", "static"):
        found += await read_some(ground, group, 50, group_instance_id=instance)
        assert sum(committed(kafka, group).values()) == len(found)
    assert len(set(found)) == len(found)


async def test_a_blocking_loop_left_by_break_has_committed_all_but_the_record_in_hand(
    kafka: RealKafka,
) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("good-end")
    await ground.fill(RECORDS)

    def read() -> None:
        with sync.Consumer(ground.topic, **options(ground, group)) as consumer:
            for record in consumer:
                if record.offset == 40:
                    break

    await anyio.to_thread.run_sync(read)
    assert committed(kafka, group) == {0: 40}


async def test_what_an_exception_leaves_is_read_again(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("bad-end")
    await ground.fill(RECORDS)

    async def read_and_fail() -> None:
        async with Consumer(ground.topic, **options(ground, group)) as consumer:
            assert await consumer.getmany(timeout=10.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await read_and_fail()
    assert committed(kafka, group).get(0, 0) <= 0
