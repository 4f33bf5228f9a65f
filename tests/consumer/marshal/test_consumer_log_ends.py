"""Ends of a log of claims, when a claiming consumer starts or while it owns."""

import anyio
import pytest

from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, kafka
from tests.consumer.marshal.stage import LOG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NOW = int(WALL_AT_START)


# -- marks and gaps ----------------------------------------------------------------------------


def mark(broker: InProcessBroker, *, committed: bool) -> None:
    """End the log with the mark of a transaction."""
    log = broker.partition(LOG)
    with broker.changing() as core:
        found = core.cluster.partition(log.tp)
        assert found is not None
        found.log.append_control(9, 0, committed=committed, epoch=found.epoch, now_ms=NOW * 1000)


def gap(broker: InProcessBroker) -> None:
    """End the log with a record that is not there any more."""
    log = broker.partition(LOG)
    foreign(broker).release(9)
    with broker.changing() as core:
        found = core.cluster.partition(log.tp)
        assert found is not None
        found.log.remove([log.end - 1])


ENDS = {
    "a committed transaction": lambda broker: mark(broker, committed=True),
    "an aborted transaction": lambda broker: mark(broker, committed=False),
    "a gap": gap,
    "a pause of long ago": lambda broker: pause(broker, -600),
}


@pytest.mark.parametrize("end", ENDS)
async def test_a_log_without_a_message_at_its_end_delays_neither_start_nor_claim(end: str) -> None:
    """Scenario 17: the original waits for the next message. What stood in front of it counts.

    And scenario 16: the message of an old admin, which the original cannot read.
    """
    broker = kafka()
    other = foreign(broker)
    epoch = other.claim()
    other.release(4, epoch)
    ENDS[end](broker)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 2, timeout=5.0) == [4, 5]
        ENDS[end](broker)
        assert (await consumer.commit()).ok
        await anyio.sleep(2 * LEASE)
        assert consumer.owns(A)


# -- pauses ------------------------------------------------------------------------------------


def pause(broker: InProcessBroker, seconds: int) -> None:
    """Have an admin pause the group, by what its message says."""
    value = f"ReleaseGroup/0/{NOW}/i/admin/g//0/{NOW + seconds}"
    broker.partition(LOG).append(value.encode())
