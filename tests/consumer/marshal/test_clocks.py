"""Clocks that do not agree, where the log has the senders' time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import CoordinationTopicError
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import WALL_AT_START
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import A, claiming, said
from tests.consumer.marshal.stage import LOG, Writer, coordinated
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BY_SENDERS = {"message.timestamp.type": "CreateTime"}


def kafka() -> InProcessBroker:
    broker = coordinated(1, configs=BY_SENDERS, t=1)
    fill(broker, A, 10)
    return broker


@asynccontextmanager
async def late_member(broker: InProcessBroker, behind: float) -> AsyncIterator[Writer]:
    """Have a member whose clock is behind, which owns the partition and says so."""
    began = anyio.current_time()
    member = Writer(broker.partition(LOG))
    member.now = lambda: WALL_AT_START - behind + anyio.current_time() - began
    epoch = member.claim()

    async def beat() -> None:
        while True:
            member.beat(0, epoch)
            await anyio.sleep(20)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        await anyio.sleep(0.1)
        yield member
        tasks.cancel_scope.cancel()


async def test_a_member_whose_clock_is_ahead_of_live_members_does_not_begin() -> None:
    broker = kafka()
    async with late_member(broker, 3600.0), claiming(broker) as consumer:
        with pytest.raises(CoordinationTopicError, match="clock is 3600 s ahead"):
            await consumer.getone(timeout=60)
        assert len(said(broker, A, Kind.CLAIMING_PARTITION)) == 1


async def test_after_a_long_silence_a_member_looks_on_for_half_an_interval_and_begins() -> None:
    broker = kafka()
    dead = Writer(broker.partition(LOG), now=lambda: WALL_AT_START - 3600.0)
    dead.beat(3, dead.claim())
    began = anyio.current_time()
    async with claiming(broker) as consumer:
        assert (await consumer.getone(timeout=60)).offset == 3
    assert 30 <= anyio.current_time() - began < 40


@pytest.mark.parametrize("behind", [0.0, 100.0])
async def test_a_member_whose_clock_agrees_with_the_log_begins_at_once(behind: float) -> None:
    broker = kafka()
    dead = Writer(broker.partition(LOG), now=lambda: WALL_AT_START - behind)
    epoch = dead.claim()
    dead.beat(3, epoch)
    dead.release(3, epoch)
    began = anyio.current_time()
    async with claiming(broker) as consumer:
        await owns_soon(consumer)
    assert anyio.current_time() - began < 5


async def owns_soon(consumer: Consumer[Any, Any]) -> None:
    await until(lambda: consumer.assignment() == {A}, 5.0, "it owns the partition")
