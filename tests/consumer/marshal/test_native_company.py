"""A native consumer of the same group id comes to a group that claims."""

from typing import Any

import anyio
import pytest

from kgroup.backends.marshal.entrance import watch_native
from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import GroupError
from kgroup.marshal.events import LogLost
from kgroup.wire.messages import DescribeGroupsRequest
from tests.consumer.entered import config_for
from tests.consumer.marshal.claiming import claiming, gives, kafka
from tests.consumer.marshal.stage import running

pytestmark = pytest.mark.anyio


async def read_on(consumer: Consumer[Any, Any], seconds: float) -> None:
    with anyio.fail_after(seconds):
        while True:
            await read_once(consumer)


async def read_once(consumer: Consumer[Any, Any]) -> None:
    """Read; each read raises a refused commit, and nothing ends by it."""
    try:
        await consumer.getmany(timeout=5.0)
    except GroupError as error:
        if "were not committed" not in str(error):
            raise
        await anyio.sleep(1.0)


@pytest.mark.slow
async def test_a_claiming_member_ends_within_a_minute_beside_a_native_one() -> None:
    """
    1. it claims, and commits nothing;
    2. a native consumer starts, and is given the same partition;
    3. the coordinator refuses the commit of an interval, which ends nothing yet;
    4. it is asked again, and names the native member.
    """
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        assert await gives(consumer, 3) == [0, 1, 2]
        native = config_for(broker, client_id="old-way", enable_auto_commit=False)
        async with Consumer("t", config=native) as other:
            assert await gives(other, 1) == [0]
            with pytest.raises(GroupError, match=r"has 1 members .*\(old-way\).* one way at a"):
                await read_on(consumer, 65.0)
            assert consumer.assignment() == frozenset()


async def test_the_coordinator_is_asked_once_a_minute_whatever_it_answers() -> None:
    broker = kafka()
    answers = broker.answers
    denied = answers.error(DescribeGroupsRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED, times=1)
    away = answers.hang_up(DescribeGroupsRequest, times=2)
    events: list[LogLost] = []
    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        tasks.start_soon(watch_native, cluster, "g", events.append)
        await anyio.sleep(600.0)
        tasks.cancel_scope.cancel()
    assert (denied.count, away.count) == (1, 2)
    assert 9 <= len(broker.requests_of(DescribeGroupsRequest)) <= 14
    assert events == []
