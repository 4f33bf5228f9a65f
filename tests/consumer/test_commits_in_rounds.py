"""Commits between JoinGroup's answer and SyncGroup's, when brokers refuse all of them."""

from typing import Any

import anyio

from kgroup.consumer import Consumer
from kgroup.testing.broker.server.faults import HeldRequests
from kgroup.wire.messages import SyncGroupRequest
from tests.consumer.entered import A, B, Bytes
from tests.consumer.ground import ground
from tests.consumer.test_subscriptions import consuming, owns
from tests.contracts.application import until

OPTIONS: dict[str, Any] = {"assignors": ["cooperative-sticky"], "auto_commit_interval": 0.2}


async def parked(consumer: Consumer[Bytes, Bytes], held: HeldRequests) -> None:
    await until(lambda: held.asked, 10.0, "SyncGroup is parked")
    assert consumer.assignment() == {A, B}


async def test_kept_partitions_are_read_on_when_nobody_awaits_a_commit() -> None:
    broker = ground(100, t=2)
    async with consuming(broker, "t", **OPTIONS) as (consumer, group):
        await owns(consumer, A, B)
        held = broker.answers.hold_request(SyncGroupRequest)
        group.rebalance()
        await parked(consumer, held)
        for _ in range(100):
            record = await consumer.getone(timeout=1.0)
            consumer.commit_soon(record)
            await anyio.sleep(0.02)
        assert sum(group.committed.values()) == 0
        held.release()
        await until(lambda: sum(group.committed.values()) == 100, 10.0, "all is committed")


async def test_an_awaited_commit_waits_for_the_end_of_the_round() -> None:
    broker = ground(10, t=2)
    async with consuming(broker, "t", enable_auto_commit=False, **OPTIONS) as (consumer, group):
        await owns(consumer, A, B)
        held = broker.answers.hold_request(SyncGroupRequest)
        group.rebalance()
        await parked(consumer, held)
        record = await consumer.getone(timeout=1.0)
        with anyio.move_on_after(2.0) as waiting:
            await consumer.commit(record)
        assert waiting.cancelled_caught
        held.release()
        await until(lambda: sum(group.committed.values()) == 1, 10.0, "the commit went on")
