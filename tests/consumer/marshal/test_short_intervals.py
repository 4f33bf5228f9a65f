"""Heartbeats every few seconds: the cost of lost or slow answers, and refused intervals."""

from typing import Any

import anyio
import pytest

from kgroup.errors import ConfigError
from kgroup.wire.messages import OffsetCommitRequest, ProduceRequest
from tests.consumer.marshal.crew import crew, until

pytestmark = pytest.mark.anyio

BY_BROKER = {"message.timestamp.type": "LogAppendTime"}
BY_SENDERS = {"message.timestamp.type": "CreateTime"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("configs", "interval"), [(BY_BROKER, 1.0), (BY_BROKER, 2.0), (BY_SENDERS, 2.0)]
)
async def test_a_heartbeat_that_is_lost_costs_no_lease(
    configs: dict[str, str], interval: float
) -> None:
    async with crew(10, configs=configs) as group:
        alone = group.enter(marshal_heartbeat_interval=interval)
        await until(lambda: alone.has == [0])
        for _ in range(5):
            await anyio.sleep(2.3 * interval)
            group.broker.answers.ignore(ProduceRequest, times=1)
        await anyio.sleep(5 * interval)
        assert alone.heard == ["gained"]


@pytest.mark.slow
@pytest.mark.parametrize("interval", [1.0, 3.0])
async def test_at_most_once_a_slow_group_coordinator_costs_time_and_nothing_else(
    interval: float,
) -> None:
    """A commit may take longer than a lease: heartbeats go on beside it."""
    async with crew(10) as group:
        group.broker.answers.delay(OffsetCommitRequest, 7.0, times=None)
        options: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": 5}
        alone = group.enter(marshal_heartbeat_interval=interval, **options)
        await until(lambda: len(alone.seen) == 10, within=60.0)
        assert alone.offsets == list(range(10))
        assert alone.heard == ["gained"]


async def test_an_interval_is_refused_that_timestamps_of_members_leave_no_lease() -> None:
    async with crew(configs=BY_SENDERS) as group:
        alone = group.enter(marshal_heartbeat_interval=1.0)
        await alone.over.wait()
        assert isinstance(alone.error, ConfigError)
        words = str(alone.error)
        assert "marshal_heartbeat_interval" in words
        assert "2 s or more" in words
        assert "message.timestamp.type=LogAppendTime" in words
