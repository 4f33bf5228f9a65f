"""Records wait for the proof of a membership, and not a moment longer."""

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.wire.messages import HeartbeatRequest

pytestmark = pytest.mark.anyio


async def test_records_that_came_before_the_first_heartbeat_answer_are_handed_out_with_it() -> None:
    """Found by cutting the first answer to a heartbeat: they were handed out up to 1 s late."""
    broker = InProcessBroker(topics={"t": 1})
    broker.partition("t").append("a")
    broker.answers.delay(HeartbeatRequest, 0.2)
    consumer = Consumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        ports=virtual_ports(broker.dial),
        group_id="g",
        auto_offset_reset="earliest",
    )
    async with consumer:
        began = anyio.current_time()
        await consumer.getone(timeout=5.0)
        assert anyio.current_time() - began == pytest.approx(0.2, abs=0.01)
