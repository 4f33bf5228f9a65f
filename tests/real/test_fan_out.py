"""The example of one topic for each group, on a real broker: second tries stay within a group."""

from collections import Counter
from typing import Any

import anyio
import pytest
from confluent_kafka import Producer

from docs.examples.processing.fan_out import GROUPS, fan_out, work
from kgroup import Consumer, Record
from kgroup.config import ConsumerConfig
from kgroup.errors import ConfigError
from kgroup.processing import Processor, Requeue
from kgroup.testing.kafka import RealKafka, create_topic
from tests.real.ground import eventually, lay_ground
from tests.real.members import FAST

pytestmark = pytest.mark.real


class Handler:
    """Fails so often with one record."""

    def __init__(self, fails: int) -> None:
        self.fails = fails
        self.done: Counter[bytes] = Counter()

    async def __call__(self, record: Record[Any, Any]) -> None:
        if self.fails and record.value.endswith(b"-0@2"):
            self.fails -= 1
            raise ValueError("not yet")
        self.done[record.value] += 1


async def test_what_one_group_puts_back_no_other_group_gets(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 2)
    for group in GROUPS:
        name = f"{ground.topic}.{group}"
        await anyio.to_thread.run_sync(create_topic, kafka.bootstrap, name, 2)
        await anyio.to_thread.run_sync(create_topic, kafka.bootstrap, f"{name}.dead", 1)
    await ground.fill(5)
    handlers = {"billing": Handler(2), "mailing": Handler(0)}

    def config(group: str) -> ConsumerConfig:
        place = {"bootstrap_servers": kafka.bootstrap, "group_id": group}
        return ConsumerConfig.of({**FAST, **place})

    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fan_out, config(f"{ground.topic}-fan-out"), producer, ground.topic)
        for group, handler in handlers.items():
            tasks.start_soon(work, config(group), handler, ground.topic)
        await eventually(
            lambda: all(len(each.done) == 10 for each in handlers.values()), "all is handled"
        )
        async with Consumer(ground.topic, config=config("shipping")) as consumer:
            stuck = Requeue(deadline=2, dead_letter="dead", write_timeout=2)
            with pytest.raises(ConfigError, match="fan-out"):  # it reads that topic, too
                await Processor(consumer, handlers["mailing"], stuck=stuck).run()
        tasks.cancel_scope.cancel()
    assert handlers["billing"].fails == 0
    assert set(handlers["mailing"].done.values()) == {1}
