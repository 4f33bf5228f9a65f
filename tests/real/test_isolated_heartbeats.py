"""`isolated_heartbeats` on real brokers: a handler that blocks the loop beyond its session."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.ground import eventually, fresh, lay_ground
from tests.real.members import CROSSED, ENDING, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

SESSION = 6.0
"""Seconds; brokers allow no less."""
OPTIONS: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "session_timeout": SESSION,
    "heartbeat_interval": 1.0,
    "max_poll_interval": 300.0,
}


def compute(seconds: float) -> None:
    """Block the loop, and use the processor."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        sum(range(1000))


class Slow:
    """Work of a member whose second batch takes three sessions without an `await`."""

    def __init__(self) -> None:
        self.batches = 0

    async def work(self, member: Member) -> None:
        async for batch in member.consumer.batches():
            self.batches += 1
            if self.batches == 2:
                compute(3 * SESSION)
            member.take(batch)


@CROSSED
async def test_a_member_that_computes_for_three_sessions_is_never_out_of_its_group(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 2)
    options = {**OPTIONS, "isolated_heartbeats": True}
    async with group_on(ground, tmp_path, **options) as group:
        slow = Slow()
        member = await group.join("m1", slow.work)
        await group.settled(2)
        known = member.member_id, member.generation_id
        await ground.fill(10)
        await eventually(lambda: slow.batches > 1, "it computes", timeout=10 * SESSION)
        await ground.fill(10)
        await group.all_read()
        assert (member.member_id, member.generation_id) == known
        assert member.took(*ENDING) == []
        await group.end()
        assert member.took(ChangeKind.LOST) == []
        await group.verdict()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_thread_has_tls_and_a_password_of_its_own(
    kafka_secure: RealKafka, mechanism: str, anyio_backend: str
) -> None:
    ground = await lay_ground(kafka_secure, 1)
    await ground.fill(10)
    access = kafka_secure.access.options("SASL_SSL", mechanism)
    options = {**OPTIONS, **access, "group_id": fresh("group"), "isolated_heartbeats": True}
    async with Consumer(ground.topic, **options) as consumer:
        with anyio.fail_after(60.0):
            await consumer.getone()
            before = consumer.membership.claims
            compute(1.5 * SESSION)
            await consumer.getone()
            assert (await consumer.commit()).ok
        assert consumer.membership.claims == before
