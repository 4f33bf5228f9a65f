"""kgroup's own consumer in memory and in virtual time: hours pass in milliseconds.

The clock of the event loop jumps to the next timer when all tasks wait, so nothing has to be made
impatient: session and poll time-outs are those of production.
"""

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend, virtual_ports

pytestmark = pytest.mark.anyio


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


def consumer(broker: InProcessBroker) -> Consumer[bytes | None, bytes | None]:
    return Consumer(
        "orders",
        bootstrap_servers=broker.bootstrap_servers,
        group_id="billing",
        client_id="A",
        auto_offset_reset="earliest",
        fetch_max_wait=25,  # what really happens costs real time: 144 fetches an hour, not 7,200
        ports=virtual_ports(broker.dial),
    )


async def test_an_order_that_takes_an_hour_is_handled_again() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    broker.partition("orders").append("tea")
    async with consumer(broker) as member:
        first = await member.getone()
        await anyio.sleep(3600)
        assert broker.group("billing").members == ()  # max_poll_interval is 5 minutes
        second = await member.getone()
    assert (first.value, second.value) == (b"tea", b"tea")


async def test_a_holiday_of_eight_days_costs_the_committed_offsets() -> None:
    broker = InProcessBroker(topics={"orders": 1})
    broker.partition("orders").append("tea")
    async with consumer(broker) as member:
        await member.getone()
        await member.commit()
    assert broker.group("billing").committed == {("orders", 0): 1}
    await anyio.sleep(8 * 24 * 3600)  # offsets.retention.minutes are 7 days
    assert broker.group("billing").committed == {}
