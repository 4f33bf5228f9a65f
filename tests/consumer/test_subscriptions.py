"""Subscriptions of a whole consumer in a group, and the way to partitions by hand and back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import ArgumentError, CommitFailedError, UnauthorizedError
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.handles_group import GroupHandle
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.types import MemberState, OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    LeaveGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
)
from tests.consumer.entered import A, B, Bytes, config_for
from tests.consumer.ground import fill, ground, hidden
from tests.contracts.application import until

U = TopicPartition("u", 0)


@asynccontextmanager
async def consuming(
    broker: InProcessBroker, *topics: str, latency: float = 0.0, **options: object
) -> AsyncIterator[tuple[Consumer[Bytes, Bytes], GroupHandle]]:
    """Enter a consumer of the group that broker 1 coordinates."""
    broker.node(1).slow(latency)
    async with Consumer(*topics, config=config_for(broker, **options)) as consumer:
        yield consumer, broker.group("g")


async def owns(consumer: Consumer[Bytes, Bytes], *tps: TopicPartition) -> None:
    await until(lambda: consumer.assignment() == {*tps}, 60.0, f"owns {tps}")


# -- committed offsets, without a subscription -------------------------------------------------


async def test_committed_works_before_a_subscription() -> None:
    async with consuming(ground(t=2)) as (consumer, _):
        assert await consumer.committed(A, B, timeout=2.0) == {A: None, B: None}
        assert consumer.membership.state is MemberState.UNSUBSCRIBED


async def test_committed_works_after_unsubscribing() -> None:
    broker = ground(t=1)
    async with consuming(broker, "t") as (consumer, group):
        await consumer.getone(timeout=10.0)
        await consumer.commit()
        consumer.unsubscribe()
        await until(lambda: not group.members, 10.0, "it has left")
        found = (await consumer.committed(A, timeout=2.0))[A]
        assert found is not None
        assert found.offset == 1


async def test_a_coordinator_that_moved_is_found_again_without_a_subscription() -> None:
    broker = ground(0, nodes=2, t=1)
    async with consuming(broker) as (consumer, _):
        assert await consumer.committed(A, timeout=2.0) == {A: None}
        broker.group("g").move_to(2)
        assert await consumer.committed(A, timeout=2.0) == {A: None}
        assert len(searches(broker, 2)) <= 3


def searches(broker: InProcessBroker, node_id: int) -> list[Arrival]:
    return [
        each
        for each in broker.requests
        if isinstance(each.request, FindCoordinatorRequest) and each.node_id == node_id
    ]


async def test_a_group_that_may_not_be_read_is_said_to_be_so() -> None:
    broker = ground(t=1)
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    broker.answers.error(FindCoordinatorRequest, code, times=None)
    async with consuming(broker) as (consumer, _):
        with pytest.raises(UnauthorizedError, match="GROUP_AUTHORIZATION_FAILED"):
            await consumer.committed(A, timeout=2.0)


@pytest.mark.parametrize("given", ["x", ("t", -1), 7, None])
async def test_committed_refuses_an_invalid_partition_before_any_request(given: object) -> None:
    async with consuming(ground(t=1)) as (consumer, _):
        with pytest.raises(ArgumentError, match="TopicPartition"):
            await consumer.committed(given)  # type: ignore[arg-type]


# -- from a group to partitions by hand, and back ----------------------------------------------


async def test_a_commit_by_hand_follows_the_leave_of_the_member_there_was() -> None:
    broker = ground(t=1)
    async with consuming(broker, "t", latency=0.2) as (consumer, group):
        await consumer.getone(timeout=10.0)
        consumer.unsubscribe()
        consumer.assign([A])
        assert (await consumer.commit({A: 7})).ok
        assert group.offsets[A].offset == 7
    kinds = (LeaveGroupRequest, OffsetCommitRequest)
    asked = [each.request for each in broker.requests if isinstance(each.request, kinds)]
    assert isinstance(asked[-2], LeaveGroupRequest)
    assert isinstance(asked[-1], OffsetCommitRequest)
    assert asked[-1].member_id == ""


async def test_unsubscribing_does_not_wait_for_records_in_hand() -> None:
    async with consuming(ground(t=1), "t") as (consumer, group):
        assert await consumer.getmany(timeout=10.0)
        before = anyio.current_time()
        consumer.unsubscribe()
        await until(lambda: not group.members, 10.0, "it has left")
        assert anyio.current_time() - before < 1.0
        assert group.offsets.get(A, OffsetAndMetadata(0)).offset == 0


async def test_assigning_other_partitions_makes_former_records_done() -> None:
    async with consuming(ground(t=1, u=1), "t") as (consumer, group):
        assert len((await consumer.getmany(timeout=10.0))[A]) == 10
        consumer.unsubscribe()
        consumer.assign([U])
        await until(lambda: not group.members, 10.0, "it has left")
        assert group.offsets[A].offset == 10


async def test_a_group_can_be_joined_again_after_partitions_by_hand() -> None:
    async with consuming(ground(t=1, u=1), "t") as (consumer, group):
        await owns(consumer, A)
        for _ in range(3):
            consumer.unsubscribe()
            consumer.assign([A])
            consumer.unsubscribe()
            consumer.subscribe("u")
            await anyio.sleep(0.05)
        await owns(consumer, U)
        assert (await consumer.getone(timeout=10.0)).topic == "u"
        assert len(group.members) == 1


async def test_partitions_by_hand_are_taken_once_and_replaced_by_the_next() -> None:
    async with consuming(ground(t=2, u=1)) as (consumer, _):
        consumer.assign([A, A, B, A])
        assert sorted(claim.tp for claim in consumer.membership.claims) == [A, B]
        consumer.assign([B, U])
        assert consumer.assignment() == {B, U}
        read = {(await consumer.getone(timeout=5.0)).topic for _ in range(6)}
        assert read == {"t", "u"}


# -- patterns and names ------------------------------------------------------------------------


async def test_a_pattern_reads_a_topic_that_comes_later() -> None:
    broker = ground(t=1)
    async with consuming(broker, metadata_max_age=10.0) as (consumer, _):
        consumer.subscribe(pattern="[tu]$")
        await owns(consumer, A)
        broker.create_topic("u", 1)
        fill(broker, U, 1)
        await owns(consumer, A, U)
        assert (await consumer.getone(U, timeout=10.0)).offset == 0


async def test_internal_topics_are_read_when_they_are_asked_for() -> None:
    broker = ground(t=1)
    broker.core.cluster.topics["t"].internal = True
    async with consuming(broker, exclude_internal_topics=False) as (consumer, _):
        consumer.subscribe(pattern="t")
        await owns(consumer, A)


async def test_asking_for_a_topic_makes_it_where_that_is_allowed() -> None:
    broker = InProcessBroker(topics={"t": 1})
    async with consuming(broker, "u", allow_auto_create_topics=True) as (consumer, _):
        await owns(consumer, U)
    asked = broker.requests_of(MetadataRequest)
    assert all(each.allow_auto_topic_creation for each in asked)


async def test_a_topic_refused_to_a_member_is_heard_of_and_the_others_are_read() -> None:
    broker = ground(t=1, u=1)
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    closed = broker.answers.rewrite(
        MetadataRequest, lambda _, answer: hidden("u", code, answer), times=None
    )
    async with consuming(broker, "t", "u") as (consumer, _):
        await owns(consumer, A)
        found = [await read_or_refusal(consumer) for _ in range(20)]
        assert sorted(found) == ["refused: u"] * 10 + ["t"] * 10
        closed.cancel()
        while found[-1] != "u":
            await anyio.sleep(0.5)
            found.append(await read_or_refusal(consumer))
        assert consumer.assignment() == {A, U}


async def read_or_refusal(consumer: Consumer[Bytes, Bytes]) -> str:
    """Read a record; return its topic, or which topic was refused."""
    try:
        return (await consumer.getone(timeout=10.0)).topic
    except UnauthorizedError as error:
        return f"refused: {', '.join(error.resources)}"


# -- topics that are deleted -------------------------------------------------------------------


async def test_a_failed_commit_of_a_deleted_topic_delays_no_other_partition() -> None:
    broker = ground(t=1, u=1)
    async with consuming(broker, "t", "u", metadata_max_age=10.0) as (consumer, group):
        await owns(consumer, A, U)
        for _ in range(3):
            await consumer.getmany(timeout=1.0)
        broker.delete_topic("u")
        before = anyio.current_time()
        with pytest.raises(CommitFailedError) as caught:
            await consumer.commit()
        assert caught.value.outcome.failed().keys() == {U}
        while consumer.assignment() != {A}:
            await consumer.getmany(timeout=0.5)
        assert anyio.current_time() - before < 20.0
        assert group.offsets[A].offset == 10
