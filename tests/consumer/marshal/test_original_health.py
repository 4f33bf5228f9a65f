"""The original's tests of the health of a claim, and what kgroup does instead.

The original gives a partition back when its reader seems slow, or gets nothing for a minute; its
tests fix the arithmetic. Here neither moves anything: only a member that cannot renew its lease
loses it.
Names are those of the original's tests. Each member is beside another one with room to spare, to
which the original would give the partition.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import Cause, ChangeKind
from kgroup.wire.messages import FetchRequest, ProduceRequest
from tests.consumer.ground import fill
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import LEASE, A, claiming, gives, kafka, owns, said, says
from tests.consumer.marshal.stage import LOG
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM, HEARTBEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION

PASS = LEASE
"""Seconds between two looks; the original's are as far apart, measured in its leases of 120 s."""

C = Consumer[Any, Any]


@asynccontextmanager
async def beside_an_idle_one(broker: InProcessBroker) -> AsyncIterator[C]:
    """Enter an owner of the only partition, and a second member that waits for it."""
    async with claiming(broker) as owner:
        await owns(owner, A)
        async with claiming(broker, name="idle") as idle:
            yield owner
            assert owner.owns(A)
            assert idle.assignment() == frozenset()
            assert said(broker, A, RELEASE) == []
            assert len(said(broker, A, CLAIM)) == 1


HISTORIES = {
    "one sample": [1],
    "a burst long ago": [1, 21, 21, 21, 21],
    "steady": [20, 40, 60, 80, 100],
    "ever faster": [1, 3, 9, 27, 81],
}


@pytest.mark.parametrize("ends", HISTORIES.values(), ids=HISTORIES)
async def test_no_history_of_a_partitions_end_moves_it(ends: list[int]) -> None:
    """TestVelocity: kgroup does not measure how fast a partition grows, or is read."""
    broker = kafka(records=0)
    async with beside_an_idle_one(broker) as owner:
        await owner.getmany(timeout=0)
        for end in ends:
            fill(broker, A, end - broker.partition("t").end)
            await anyio.sleep(PASS)
            await owner.getmany(timeout=0, max_records=1)


@pytest.mark.parametrize("arrives", [True, False], ids=["it moves", "it is at the end"])
async def test_an_owner_at_the_end_or_reading_on_keeps_its_partition(arrives: bool) -> None:
    """TestReleaseIfWedged: kept for minutes of silence, in the original too."""
    broker = kafka()
    async with beside_an_idle_one(broker) as owner:
        assert await gives(owner, 10) == [*range(10)]
        for _ in range(3):
            await anyio.sleep(2.5 * PASS)
            fill(broker, A, int(arrives))
            assert bool(await owner.getmany(timeout=1.0)) is arrives


@pytest.mark.parametrize("grows", [True, False], ids=["it grows", "it does not"])
async def test_an_owner_whose_fetches_fail_keeps_its_partition(grows: bool) -> None:
    """TestReleaseIfWedged2: the original releases after a minute. 1. The leader of the partition
    answers no fetch; 2. it would answer no other member either; 3. once it does, reading goes on
    at once, because the claim was kept."""
    broker = kafka(nodes=2)
    broker.partition(LOG).move_to(1)
    broker.partition("t").move_to(2)
    async with beside_an_idle_one(broker) as owner:
        await gives(owner, 10)
        mute = broker.answers.ignore(FetchRequest, node=2, times=None)
        await anyio.sleep(1.0)  # what was asked for before is answered
        fill(broker, A, 5)
        for _ in range(3):
            assert await owner.getmany(timeout=2.5 * PASS) == {}
            fill(broker, A, int(grows))
        mute.cancel()
        assert await gives(owner, 5, timeout=60) == [*range(10, 15)]


async def test_an_owner_that_falls_behind_keeps_its_partition() -> None:
    """TestHealthCheck: caught up, about to be, or behind at three looks in a row: the original
    releases in the last case."""
    broker = kafka()
    async with beside_an_idle_one(broker) as owner:
        lags = []
        for _ in range(4):
            fill(broker, A, 50)
            await gives(owner, 1)
            await anyio.sleep(PASS)
            lags.append(owner.lag(A) or 0)
        assert lags == [59, 108, 157, 206]


async def test_an_owner_that_cannot_renew_its_lease_loses_it_at_its_position() -> None:
    """TestHealthCheckRelease: the original releases at offset 5 when its own heartbeat is too old.
    Here the lease has ended by then: no release is written, and the last heartbeat has offset 5."""
    broker = kafka()
    heard = Heard()
    async with claiming(broker, listener=heard) as owner:
        await gives(owner, 5)
        await owner.commit()
        mute = broker.answers.error(ProduceRequest, 7, where=says(HEARTBEAT), times=None)
        async with claiming(broker, name="next") as successor:
            await until(lambda: heard.of(ChangeKind.LOST), LEASE, "its lease is over")
            mute.cancel()
            assert heard.of(ChangeKind.LOST)[0].cause is Cause.SESSION_EXPIRED
            assert said(broker, A, RELEASE) == []
            await until(lambda: owner.owns(A) or successor.owns(A), 3 * LEASE, "it is claimed")
            heir = owner if owner.owns(A) else successor
            assert await heir.position(A) == 5


async def test_the_lag_rises_and_falls_as_reading_stalls_and_recovers_and_moves_nothing() -> None:
    """TestUnhealthyPartition: what the original counts as looks behind can be seen as lag."""
    broker = kafka()
    async with beside_an_idle_one(broker) as owner:
        lags = []
        for arrive, read in [(0, 10), (6, 1), (0, 5), (6, 1), (6, 1), (0, 10)]:
            fill(broker, A, arrive)
            await gives(owner, read)
            await anyio.sleep(PASS)
            lags.append(owner.lag(A))
        assert lags == [0, 5, 0, 5, 10, 0]


async def test_a_commit_renews_the_lease_like_any_heartbeat() -> None:
    """TestConsumerHeartbeat. 1. The claim is confirmed; 2. a commit comes shortly before the next
    heartbeat is due; 3. the member is cut off: its lease counts from the commit."""
    broker = kafka()
    heard = Heard()
    async with claiming(
        broker, listener=heard, marshal_heartbeat_interval=30, enable_auto_commit=False
    ) as consumer:
        await gives(consumer, 3)
        await anyio.sleep(8.0)
        assert len(said(broker, A, HEARTBEAT)) == 1
        await consumer.commit()
        committed_at = anyio.current_time()
        assert said(broker, A)[-1].words == (HEARTBEAT, 3)
        broker.answers.ignore(ProduceRequest, times=None)
        await until(lambda: heard.of(ChangeKind.LOST), 60.0, "its lease is over")
        assert 52.0 < anyio.current_time() - committed_at < 53.0, "seven eighths of a minute"
        broker.answers.clear()


async def test_a_heartbeat_says_the_position_and_after_a_release_there_is_none() -> None:
    """TestHeartbeat."""
    broker = kafka(records=20)
    async with claiming(broker) as consumer:
        await gives(consumer, 10)
        await consumer.commit()
        assert said(broker, A)[-1].words == (HEARTBEAT, 10)
        consumer.unsubscribe()
        await until(lambda: said(broker, A, RELEASE), LEASE, "it is released")
        await anyio.sleep(4 * LEASE)
        assert said(broker, A)[-1].words == (RELEASE, 10)


async def test_a_commit_into_a_log_that_takes_nothing_ends_by_a_deadline() -> None:
    """TestHeartbeatTimeout (never merged there): ten seconds in that branch, the lease here."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 3)
        broker.answers.ignore(ProduceRequest, times=None)
        begun = anyio.current_time()
        with pytest.raises(CommitFailedError):
            await consumer.commit()
        assert anyio.current_time() - begun <= LEASE
        broker.answers.clear()
