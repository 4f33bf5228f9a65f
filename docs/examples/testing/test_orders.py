"""Tests of `orders.py` without a Kafka: all that can happen to a consumer, in less than a second.

A `Worker` runs the service as production does. `gate` stops it in the middle of an order.
"""

import asyncio
from typing import Any, Self

import pytest
from aiokafka import ConsumerRecord
from orders import GROUP, OrderService

from kgroup.testing import InProcessBroker
from kgroup.testing.requests import HeartbeatRequest, OffsetCommitRequest

pytestmark = [pytest.mark.anyio, pytest.mark.kgroup_broker(topics={"orders": 2})]

# Defaults for production, such as a heartbeat every 3 s, only make tests slow. And `stop()` of
# aiokafka 0.14 raises CancelledError when a fetch has failed less than `retry_backoff_ms` ago.
IMPATIENT = {"heartbeat_interval_ms": 20, "retry_backoff_ms": 1, "fetch_max_wait_ms": 50}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Worker:
    """A running service, for as long as an `async with` block lasts."""

    def __init__(self, broker: InProcessBroker, name: str, **options: Any) -> None:
        self.handled: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        options = {"client_id": name, **IMPATIENT, **options}
        self.service = OrderService(broker.bootstrap_servers, self.handle, **options)

    async def handle(self, record: ConsumerRecord) -> None:
        self.handled.append(record.value.decode())
        await self.gate.wait()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self.service.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.gate.set()  # also when the test has failed: who stops finishes the order in hand
        await self.service.stop()
        await self._task


async def test_orders_are_handled_and_committed(kgroup_broker: InProcessBroker) -> None:
    kgroup_broker.partition("orders", 0).append("tea", "milk")
    kgroup_broker.partition("orders", 1).append("bread")
    async with Worker(kgroup_broker, "A") as worker:
        await kgroup_broker.until(lambda: len(worker.handled) == 3)
    assert kgroup_broker.group(GROUP).committed == {("orders", 0): 2, ("orders", 1): 1}


async def test_a_rebalance_loses_nothing_and_repeats_nothing(
    kgroup_broker: InProcessBroker,
) -> None:
    group = kgroup_broker.group(GROUP)
    async with Worker(kgroup_broker, "A") as first:
        kgroup_broker.partition("orders", 0).append("tea", "milk")
        kgroup_broker.partition("orders", 1).append("bread")
        await kgroup_broker.until(lambda: len(first.handled) == 3)
        assert group.committed == {}  # ten orders make a commit
        async with Worker(kgroup_broker, "B") as second:
            await kgroup_broker.until(lambda: group.has_settled(members=2))
            kgroup_broker.partition("orders", 0).append("salt")
            kgroup_broker.partition("orders", 1).append("rice")
            await kgroup_broker.until(lambda: len(first.handled + second.handled) >= 5)
    assert sorted(first.handled + second.handled) == ["bread", "milk", "rice", "salt", "tea"]
    assert group.committed == {("orders", 0): 3, ("orders", 1): 2}


async def test_an_order_in_hand_is_finished_before_a_rebalance(
    kgroup_broker: InProcessBroker,
) -> None:
    group = kgroup_broker.group(GROUP)
    kgroup_broker.partition("orders").append("tea")
    async with Worker(kgroup_broker, "A") as worker:
        worker.gate.clear()
        await kgroup_broker.until(lambda: worker.handled)
        group.rebalance()
        beats = len(kgroup_broker.requests_of(HeartbeatRequest))
        await kgroup_broker.until(
            lambda: len(kgroup_broker.requests_of(HeartbeatRequest)) >= beats + 2
        )
        assert group.generation == 1  # it knows, and finishes first
        worker.gate.set()
        await kgroup_broker.until(lambda: group.has_settled() and group.generation == 2)
        assert group.committed == {("orders", 0): 1}
    assert worker.handled == ["tea"]


async def test_who_loses_a_partition_spoils_nothing_with_a_late_commit(
    kgroup_broker: InProcessBroker,
) -> None:
    group = kgroup_broker.group(GROUP)
    async with (
        Worker(kgroup_broker, "A") as first,
        Worker(kgroup_broker, "B", commit_every=1) as second,
    ):
        await kgroup_broker.until(lambda: group.has_settled(members=2))
        (lost,) = group.member("A").partitions
        first.gate.clear()
        kgroup_broker.partition(*lost).append("tea", "milk")
        await kgroup_broker.until(lambda: first.handled == ["tea"])
        group.expire("A")  # as if it had been silent for a session timeout
        await kgroup_broker.until(lambda: group.committed == {lost: 2})
        first.gate.set()
        await kgroup_broker.until(lambda: group.has_settled(members=2))
    assert (first.handled, second.handled) == (["tea"], ["tea", "milk"])
    assert group.committed == {lost: 2}


async def test_who_is_fenced_handles_again_what_it_could_not_commit(
    kgroup_broker: InProcessBroker,
) -> None:
    group = kgroup_broker.group(GROUP)
    kgroup_broker.partition("orders").append("tea")
    async with Worker(kgroup_broker, "A", group_instance_id="till-1") as worker:
        worker.gate.clear()
        await kgroup_broker.until(lambda: worker.handled == ["tea"])
        group.fence("till-1")  # a twin, as when a deployment starts the same till twice
        worker.gate.set()
        await kgroup_broker.until(lambda: worker.handled == ["tea", "tea"])
    assert group.committed == {("orders", 0): 1}


async def test_a_coordinator_that_moves_costs_nothing(kgroup_cluster: InProcessBroker) -> None:
    group = kgroup_cluster.group(GROUP)
    async with Worker(kgroup_cluster, "A") as worker:
        await kgroup_cluster.until(group.has_settled)
        group.move()
        kgroup_cluster.partition("orders").append("tea")
        await kgroup_cluster.until(lambda: worker.handled)
        assert group.generation == 1
    assert worker.handled == ["tea"]
    assert group.committed == {("orders", 0): 1}


async def test_a_dead_leader_loses_no_order(kgroup_cluster: InProcessBroker) -> None:
    orders = kgroup_cluster.partition("orders")
    orders.append("tea")
    async with Worker(kgroup_cluster, "A") as worker:
        await kgroup_cluster.until(lambda: worker.handled)
        kgroup_cluster.node(orders.leader).kill()
        orders.append("milk")
        await kgroup_cluster.until(lambda: len(worker.handled) == 2)
    assert worker.handled == ["tea", "milk"]
    assert kgroup_cluster.group(GROUP).committed == {("orders", 0): 2}


async def test_a_slow_broker_throws_nobody_out(kgroup_broker: InProcessBroker) -> None:
    group = kgroup_broker.group(GROUP)
    async with Worker(kgroup_broker, "A") as worker:
        await kgroup_broker.until(group.has_settled)
        kgroup_broker.node(1).slow(0.05)
        kgroup_broker.partition("orders").append("tea", "milk")
        await kgroup_broker.until(lambda: len(worker.handled) == 2)
        assert group.generation == 1
    assert worker.handled == ["tea", "milk"]
    assert group.committed == {("orders", 0): 2}


async def test_a_commit_whose_answer_is_lost_is_repeated_and_no_order_is(
    kgroup_broker: InProcessBroker,
) -> None:
    kgroup_broker.answers.hang_up(OffsetCommitRequest)  # once; the commit has taken effect
    kgroup_broker.partition("orders").append("tea", "milk")
    async with Worker(kgroup_broker, "A", commit_every=2) as worker:
        await kgroup_broker.until(lambda: len(kgroup_broker.requests_of(OffsetCommitRequest)) == 2)
    assert worker.handled == ["tea", "milk"]
    assert kgroup_broker.group(GROUP).committed == {("orders", 0): 2}
