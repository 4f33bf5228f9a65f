"""Pauses of any length: a reader of the last hour of the log knows every one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.admin.marshal.claim_log import ClaimLog, claim_log
from kgroup.admin.marshal.pauses import pause_group, resume
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.codes import ErrorCode
from kgroup.errors import ArgumentError, GroupError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_backend, virtual_wall
from kgroup.wire.messages import ProduceRequest
from tests.consumer.marshal.crew import crew, until
from tests.consumer.marshal.stage import LOG, Writer, coordinated, running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LONG = 3700.0
"""More than an hour: longer than the part of the log that members read."""


@pytest.fixture
def anyio_backend() -> tuple[str, Mapping[str, Any]]:
    """Hours of virtual time, on one of the two."""
    return virtual_backend("asyncio")


@asynccontextmanager
async def at_the_log(broker: InProcessBroker) -> AsyncIterator[ClaimLog]:
    topics = frozenset({"t"})
    async with running(broker) as cluster, claim_log(cluster, AdminSettings("g"), topics) as place:
        yield place


class Keeper:
    """An administrator that keeps a pause up, and what became of it."""

    def __init__(self, broker: InProcessBroker) -> None:
        self.broker = broker
        self.said: list[str] = []
        self.scope = anyio.CancelScope()
        self.error: Exception | None = None
        self.ended_at: float | None = None

    async def keep(self, seconds: float) -> None:
        with self.scope:
            async with at_the_log(self.broker) as place:
                try:
                    await pause_group(place, [0], seconds, self.said.append)
                except (GroupError, TimeoutError) as error:
                    self.error = error
        self.ended_at = anyio.current_time()

    @property
    def renewals(self) -> int:
        """How often the pause was written."""
        values = (record.value or b"" for record in self.broker.partition(LOG).records())
        return sum(value.startswith(b"ReleaseGroup/") for value in values)


async def test_a_member_that_starts_an_hour_into_a_pause_sees_it() -> None:
    async with crew(10) as group:
        keeper = Keeper(group.broker)
        group.tasks.start_soon(keeper.keep, LONG)
        await anyio.sleep(LONG - 50.0)
        late = group.enter()
        await anyio.sleep(49.0)
        assert late.has == []
        await until(lambda: late.has == [0], within=20.0)
        assert anyio.current_time() >= LONG
    assert keeper.error is None
    assert any("it is renewed until" in line for line in keeper.said)
    assert keeper.ended_at == pytest.approx(1500.0, abs=5.0)
    assert keeper.renewals == 2


async def test_a_pause_whose_keeper_died_ends_within_the_hour() -> None:
    broker = coordinated(t=1)
    keeper = Keeper(broker)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.keep, LONG)
        await anyio.sleep(20.0)
        keeper.scope.cancel()
    async with at_the_log(broker) as place:
        pause = place.pause(0)
        assert pause is not None
        assert pause.until == pytest.approx((virtual_wall() - 20.0 + 3000) * 1000, abs=3000)


async def test_a_keeper_does_not_renew_a_pause_that_was_ended() -> None:
    broker = coordinated(t=1)
    keeper = Keeper(broker)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.keep, LONG)
        await anyio.sleep(20.0)
        async with at_the_log(broker) as place:
            assert await resume(place, [0]) == (0,)
            await until(lambda: keeper.ended_at is not None, within=5.0)
            assert place.pause(0) is None
    assert "was ended, or replaced, by somebody else" in str(keeper.error)


async def test_a_pause_outlasts_a_log_that_takes_no_messages_for_a_while() -> None:
    broker = coordinated(t=1)
    keeper = Keeper(broker)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.keep, 4000.0)
        await anyio.sleep(1400.0)
        refusal = broker.answers.error(ProduceRequest, ErrorCode.NOT_ENOUGH_REPLICAS, times=None)
        await anyio.sleep(200.0)
        assert (keeper.renewals, keeper.ended_at) == (1, None)
        refusal.cancel()
        await until(lambda: keeper.ended_at is not None)
    assert (keeper.error, keeper.renewals) == (None, 2)


async def test_a_pause_is_not_kept_up_once_a_member_of_the_original_library_is_about() -> None:
    broker = coordinated(t=1)
    keeper = Keeper(broker)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.keep, LONG)
        await anyio.sleep(1450.0)
        Writer(broker.partition(LOG), "go", headerless=True, now=virtual_wall).claim()
        await until(lambda: keeper.ended_at is not None)
    assert "The pause ends by itself" in str(keeper.error)
    assert keeper.renewals == 1


async def test_a_pause_longer_than_a_week_is_refused() -> None:
    broker = coordinated(t=1)
    async with at_the_log(broker) as place:
        for seconds in (0.5, 604_801, float("nan")):
            with pytest.raises(ArgumentError, match="1 to 604800 seconds, a week"):
                await pause_group(place, [0], seconds)
    assert broker.partition(LOG).records() == []
