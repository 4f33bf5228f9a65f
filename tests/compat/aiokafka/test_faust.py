"""Why Faust-streaming does not run on the facade: it reads past the public calls of a consumer.

Done here is what its driver for aiokafka does, as the page about the drop-in tells it.
"""

from pathlib import Path

import pytest
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.structs import TopicPartition

from kgroup.compat.aiokafka import AIOKafkaConsumer
from tests.compat.aiokafka.ground import broker_with, made, started

PAGE = Path(__file__).parents[3] / "docs" / "drop-in.md"

pytestmark = pytest.mark.anyio


class AsksForTheGeneration(ConsumerRebalanceListener):
    """As the listener of Faust's driver."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._consumer = consumer
        self.generations: list[object] = []

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None: ...

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.generations.append(self._consumer._coordinator.generation)  # type: ignore[attr-defined]


async def test_its_listener_fails_and_the_log_says_so_in_the_words_of_the_page(
    caplog: pytest.LogCaptureFixture,
) -> None:
    consumer = made(broker_with())
    listener = AsksForTheGeneration(consumer)
    consumer.subscribe(["t"], listener=listener)
    await consumer.start()
    await consumer.stop()
    assert listener.generations == []
    for words in (
        "on_partitions_assigned of the listener failed",
        "AttributeError: 'AIOKafkaConsumer' object has no attribute '_coordinator'",
    ):
        assert words in caplog.text
        assert words in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["_coordinator", "_fetcher", "_client"])
async def test_what_it_reads_by_is_not_there(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
    async with started(broker_with(), "t") as consumer:
        assert not hasattr(consumer, name)
