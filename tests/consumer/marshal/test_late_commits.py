"""Late commits with the group coordinator: they count only under the latest claim."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.marshal.messages import Kind
from kgroup.wire.messages import OffsetCommitRequest
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, kafka, said
from tests.consumer.marshal.stage import committed
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def test_a_commit_does_not_outlive_the_claim_it_was_made_under() -> None:
    """
    1. it commits, and the coordinator is loading: it is tried again;
    2. the partition goes to another member, which commits further on;
    3. the coordinator is back.
    """
    broker = kafka()
    options = {"enable_auto_commit": False, "marshal_heartbeat_interval": 60}
    async with claiming(broker, "t", name="one", listener=None, **options) as consumer:
        await gives(consumer, 5)
        loading = broker.answers.error(OffsetCommitRequest, LOADING, times=None)
        assert (await consumer.commit()).ok, "the log has it"
        await until(lambda: loading.count, 5.0, "the coordinator refuses it")
        foreign(broker).take(9)
        await until(lambda: not consumer.owns(A), 5.0, "it is somebody else's")
        broker.group("g").commit({A: 9})
        loading.cancel()
        await anyio.sleep(40.0)
    assert committed(broker) == 9


async def test_a_commit_is_tried_again_while_its_claim_lasts_and_behind_its_release() -> None:
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 5)
        loading = broker.answers.error(OffsetCommitRequest, LOADING, times=None)
        assert (await consumer.commit()).ok
        await anyio.sleep(2 * LEASE)
        assert committed(broker) != 5
        loading.cancel()
        await until(lambda: committed(broker) == 5, LEASE, "it is committed")
        loading = broker.answers.error(OffsetCommitRequest, LOADING, times=None)
        await gives(consumer, 2)
        assert (await consumer.commit()).ok
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consumer.close)
            await until(lambda: said(broker, A, Kind.RELEASING_PARTITION), 5.0, "it is released")
            await anyio.sleep(1.0)
            loading.cancel()
    assert committed(broker) == 7


async def test_at_most_once_every_heartbeat_commits_the_published_position_again() -> None:
    """
    1. somebody else has the partition, and sends a commit;
    2. it goes to this member, which commits further on, and hands that out;
    3. the first commit arrives late. Should the log be lost, its position would count.
    """
    broker = kafka()
    options = {"guarantee": "at_most_once", "at_most_once_records": 4}
    async with claiming(broker, "t", name="one", listener=None, **options) as consumer:
        assert await gives(consumer, 5) == [0, 1, 2, 3, 4]
        assert committed(broker) == 8
        for _ in range(2):
            broker.group("g").commit({A: 2})
            await anyio.sleep(LEASE / 2)
            assert committed(broker) == 8


async def test_at_least_once_every_interval_commits_the_position_again() -> None:
    """
    1. it commits, and hands nothing more out; 2. what the coordinator has of it is lost, or a
    commit of a former owner arrives late. Should the log be lost, that position would count.
    """
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 5)
        assert (await consumer.commit()).ok
        for _ in range(2):
            broker.group("g").commit({A: 2})
            await anyio.sleep(LEASE)
            assert committed(broker) == 5


async def test_an_unchanged_position_is_committed_once_per_interval() -> None:
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 5)
        assert (await consumer.commit()).ok
        await anyio.sleep(1.0)
        before = len(broker.requests_of(OffsetCommitRequest))
        await anyio.sleep(10 * LEASE)
        made = len(broker.requests_of(OffsetCommitRequest)) - before
        assert 12 <= made <= 20, "20 intervals, 60 heartbeats"
