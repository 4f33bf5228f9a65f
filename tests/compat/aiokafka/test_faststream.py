"""What FastStream's log reads of a consumer, besides its public calls."""

from typing import Any

import pytest
from aiokafka.abc import ConsumerRebalanceListener

from kgroup.compat.aiokafka.faststream import AIOKafkaConsumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from tests.compat.aiokafka.ground import broker_with

pytestmark = pytest.mark.anyio


class Line(ConsumerRebalanceListener):
    """Reads of its consumer what FastStream's line about an assignment holds."""

    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer
        self.read: list[tuple[Any, Any, Any]] = []

    def on_partitions_revoked(self, revoked: object) -> None:
        """Log nothing, as FastStream."""

    async def on_partitions_assigned(self, assigned: object) -> None:
        member_id = self.consumer._coordinator.member_id
        self.read.append((member_id, self.consumer._group_id, self.consumer._subscription.topics))


def made(broker: InProcessBroker, group_id: str | None) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers,
        client_id="shop",
        group_id=group_id,
        ports=virtual_ports(broker.dial),
    )


async def test_a_listener_reads_the_member_id_and_the_group() -> None:
    consumer = made(broker_with(), "g")
    line = Line(consumer)
    consumer.subscribe(["t"], listener=line)
    async with consumer:
        ((member_id, group_id, topics),) = line.read
    assert (member_id[:5], group_id, topics) == ("shop-", "g", {"t"})


async def test_a_consumer_without_a_group_has_an_empty_member_id() -> None:
    consumer = made(broker_with(), None)
    consumer.subscribe(["t"])
    async with consumer:
        assert (consumer._coordinator.member_id, consumer._group_id) == ("", None)
        assert consumer._subscription.topics == {"t"}
