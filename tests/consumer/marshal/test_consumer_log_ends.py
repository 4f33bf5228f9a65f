"""What a log of claims may end with when a consumer that claims starts, or while it owns."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from kgroup.types import Cause, ChangeKind, OwnershipChange
from tests.consumer.listening import Told
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, kafka, owns, said
from tests.consumer.marshal.stage import LOG
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

RELEASE = Kind.RELEASING_PARTITION
NOW = int(WALL_AT_START)

C = Consumer[Any, Any]


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
async def test_a_log_that_ends_with_no_message_holds_up_neither_start_nor_claim(end: str) -> None:
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


@pytest.mark.parametrize("seconds", [0, -1, -600])
async def test_a_pause_that_ends_before_it_begins_is_none(seconds: int) -> None:
    """Scenario 19: expired already, or before its own time."""
    broker = kafka()
    told = Told()
    async with claiming(broker, listener=told) as consumer:
        await gives(consumer, 1)
        pause(broker, seconds)
        assert await gives(consumer, 1) == [1]
        await anyio.sleep(2 * LEASE)
        assert consumer.owns(A)
        assert told.kinds == [ChangeKind.ASSIGNED]
        assert said(broker, A, RELEASE) == []


async def test_the_later_of_two_pauses_counts_though_it_ends_sooner() -> None:
    """Scenario 19."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 1)
        await consumer.commit()
        pause(broker, 600)
        await owns(consumer)
        pause(broker, 20)
        begun = anyio.current_time()
        await owns(consumer, A)
        assert 20.0 <= anyio.current_time() - begun < 25.0


async def test_a_pause_that_is_over_before_on_revoked_returns_ends_in_a_release() -> None:
    """Scenario 19: what was asked of the listener is carried through, and claimed anew."""
    broker = kafka()
    seen: list[list[Kind]] = []

    async def dawdle(consumer: C, change: OwnershipChange) -> None:
        await anyio.sleep(6.0)
        seen.append([each.message.kind for each in said(broker, A)])

    told = Told(revoked=dawdle)
    async with claiming(broker, listener=told) as consumer:
        await gives(consumer, 3)
        await consumer.commit()
        pause(broker, 3)
        await until(lambda: len(told.changes) == 3, 30.0, "it is had again")
        assert RELEASE not in seen[0]
        assert told.kinds == [ChangeKind.ASSIGNED, ChangeKind.REVOKED, ChangeKind.ASSIGNED]
        assert told.changes[1].cause is Cause.GROUP_PAUSED
        assert said(broker, A, RELEASE)[0].words == (RELEASE, 3)
        assert await gives(consumer, 1) == [3]
