"""Records wait for the first heartbeat answer of a membership, and no longer."""

from collections.abc import Callable

import anyio
import pytest

from kgroup.backends.classic.backend import ClassicBackend
from kgroup.config import ConsumerConfig
from kgroup.consumer import Consumer
from kgroup.journal import Sink
from kgroup.net.cluster import Cluster
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Membership
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


class BetweenWaits(ClassicBackend):
    """Something happens when a wait for the membership is over by time, before the next begins."""

    happens: Callable[[], None]

    async def membership_changed(self, seen: Membership) -> Membership:
        try:
            return await super().membership_changed(seen)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                self.happens()
                await anyio.sleep(0.01)
            raise


async def test_a_proof_between_two_waits_for_the_membership_is_not_missed() -> None:
    """1. The wait is ended, to look anew each second; 2. in the same pass of the loop the first
    heartbeat is answered; 3. the next wait has nothing new to see."""
    broker = InProcessBroker(topics={"t": 1})
    broker.partition("t").append("a")
    answer = broker.answers.hold(HeartbeatRequest)
    answered_at: list[float] = []

    def answer_now() -> None:
        if answer.asked is not None and not answered_at:
            answered_at.append(anyio.current_time())
            answer.release()

    def coordinated(config: ConsumerConfig, cluster: Cluster, sink: Sink) -> ClassicBackend:
        backend = BetweenWaits(config.membership(), cluster, sink)
        backend.happens = answer_now
        return backend

    consumer = Consumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        ports=virtual_ports(broker.dial),
        group_id="g",
        auto_offset_reset="earliest",
        fetch_max_wait=20.0,  # an empty answer would wake the read
    ).coordinate_by(coordinated)
    async with consumer:
        await anyio.sleep(0.5)  # a read looks anew each second, too
        await consumer.getone(timeout=10.0)
        (released_at,) = answered_at
        assert anyio.current_time() - released_at < 0.1
