"""A change to topics whose claims are in another partition of the coordination topic."""

from typing import Any

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError
from kgroup.marshal.messages import Kind
from kgroup.testing import InProcessBroker
from kgroup.types import ChangeKind, CommitOutcome, OwnershipChange, TopicPartition
from kgroup.wire.messages import OffsetCommitRequest, ProduceRequest
from tests.consumer.ground import fill
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import LEASE, A, claiming, foreign, gives, owns, said, says
from tests.consumer.marshal.stage import committed, coordinated
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

U = TopicPartition("u", 0)
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def two_logs() -> InProcessBroker:
    """Return a cluster where the claims of `t` and of `u` are in different partitions."""
    broker = coordinated(3, t=1, u=1)
    fill(broker, A, 10)
    fill(broker, U, 10)
    return broker


async def test_former_topics_are_committed_and_released() -> None:
    broker = two_logs()
    outcomes: list[CommitOutcome] = []

    async def commit(consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        del change
        outcomes.append(await consumer.commit())

    async with claiming(broker, listener=Heard(revoked=commit)) as consumer:
        assert await gives(consumer, 4) == [0, 1, 2, 3]
        began = anyio.current_time()
        consumer.subscribe("u")
        assert await gives(consumer, 2) == [0, 1]
        await owns(consumer, U)
        assert anyio.current_time() - began < LEASE / 4
        assert [outcome.ok for outcome in outcomes] == [True]
        assert said(broker, A)[-1].words == (Kind.RELEASING_PARTITION, 4)


async def test_a_takeover_of_a_former_partition_in_hand_is_noticed() -> None:
    broker = two_logs()
    heard = Heard()
    async with claiming(broker, listener=heard, enable_auto_commit=False) as consumer:
        (batch,) = (await consumer.getmany(timeout=30)).values()
        consumer.subscribe("u")
        await anyio.sleep(1)
        assert A in consumer.assignment()
        claim = said(broker, A, Kind.CLAIMING_PARTITION)[-1].offset
        foreign(broker).beat(0, claim + 1)
        await until(lambda: heard.of(ChangeKind.LOST), 2.0, "on_lost is called")
        await owns(consumer, U)
        assert len(batch) == 10


async def test_a_commit_that_the_coordinator_was_late_to_take_is_taken_behind_the_change() -> None:
    """
    1. it commits, and the coordinator is loading: it is tried again;
    2. other topics are asked for, and the partition is released;
    3. the coordinator is back. The partition has no other owner yet: the commit is still valid.
    """
    broker = two_logs()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 4)
        loading = broker.answers.error(OffsetCommitRequest, LOADING, times=None)
        assert (await consumer.commit()).ok, "the log has it"
        await until(lambda: loading.count, 5.0, "the coordinator refuses it")
        consumer.subscribe("u")
        await owns(consumer, U)
        await anyio.sleep(5.0)
        assert said(broker, A)[-1].words == (Kind.RELEASING_PARTITION, 4)
        loading.cancel()
        await until(lambda: committed(broker, A) == 4, 20.0, "it is committed")


async def test_a_commit_of_former_topics_is_not_made_once_somebody_else_has_claimed_them() -> None:
    broker = two_logs()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 4)
        loading = broker.answers.error(OffsetCommitRequest, LOADING, times=None)
        assert (await consumer.commit()).ok, "the log has it"
        consumer.subscribe("u")
        await owns(consumer, U)
        foreign(broker).take(9)
        await anyio.sleep(1.0)
        broker.group("g").commit({A: 9})
        loading.cancel()
        await anyio.sleep(40.0)
        assert committed(broker, A) == 9


async def test_a_waiting_commit_is_unknown_when_its_topic_is_given_up() -> None:
    """1. Its heartbeat cannot be written; 2. other topics are asked for: it is not kept waiting."""
    broker = two_logs()
    at_4, few = says(Kind.HEARTBEAT, 4), ErrorCode.NOT_ENOUGH_REPLICAS
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await gives(consumer, 4)
        refused = broker.answers.error(ProduceRequest, few, where=at_4, times=None)

        async def commit() -> None:
            with pytest.raises(CommitFailedError, match="ended before the position was read back"):
                await consumer.commit()

        with anyio.fail_after(LEASE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(commit)
                await until(lambda: refused.count, 5.0, "its heartbeat is refused")
                consumer.subscribe("u")
