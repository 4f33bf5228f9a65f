"""A whole consumer in a scripted group: what it asks for, and what becomes of that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.consumer import Consumer
from kgroup.errors import ArgumentError, CommitFailedError, UnauthorizedError
from kgroup.testing.scripted import Answer
from kgroup.types import MemberState, TopicPartition
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    LeaveGroupRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests.consumer.entered import A, B, Bytes, config_for
from tests.consumer.shelf import Shelf
from tests.contracts.application import until
from tests.scripted_group import ScriptedGroup

U = TopicPartition("u", 0)


def ground(**topics: int) -> Shelf:
    """Return brokers with ten records in every partition."""
    shelf = Shelf(**topics)
    for name, count in topics.items():
        for number in range(count):
            shelf.fill(TopicPartition(name, number), 10)
    return shelf


@asynccontextmanager
async def consuming(
    shelf: Shelf, *topics: str, latency: float = 0.0, **options: object
) -> AsyncIterator[tuple[Consumer[Bytes, Bytes], ScriptedGroup]]:
    """Enter a consumer of the group these brokers coordinate."""
    group = ScriptedGroup(shelf, latency=latency)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(group.run)
        async with Consumer(*topics, config=config_for(shelf, **options)) as consumer:
            yield consumer, group
        tasks.cancel_scope.cancel()


async def owns(consumer: Consumer[Bytes, Bytes], *tps: TopicPartition) -> None:
    await until(lambda: consumer.assignment() == {*tps}, 60.0, f"owns {tps}")


# -- what is committed, without a subscription ---------------------------------------------


async def test_what_is_committed_can_be_asked_before_anything_is_subscribed() -> None:
    async with consuming(ground(t=2)) as (consumer, _):
        assert await consumer.committed(A, B, timeout=2.0) == {A: None, B: None}
        assert consumer.membership.state is MemberState.UNSUBSCRIBED


async def test_what_is_committed_can_be_asked_after_everything_was_given_up() -> None:
    shelf = ground(t=1)
    async with consuming(shelf, "t") as (consumer, group):
        await consumer.getone(timeout=10.0)
        await consumer.commit()
        consumer.unsubscribe()
        await until(lambda: not group.members, 10.0, "it has left")
        found = (await consumer.committed(A, timeout=2.0))[A]
        assert found is not None
        assert found.offset == 1


async def test_a_coordinator_that_moved_is_found_again_without_a_subscription() -> None:
    shelf = Shelf(2, t=1)
    async with consuming(shelf) as (consumer, _):
        assert await consumer.committed(A, timeout=2.0) == {A: None}
        shelf.coordinator = 2
        assert await consumer.committed(A, timeout=2.0) == {A: None}
        assert len(shelf.broker(2).requests(FindCoordinatorRequest)) <= 3


async def test_a_group_that_may_not_be_read_is_said_to_be_so() -> None:
    shelf = ground(t=1)
    shelf.coordinator_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    async with consuming(shelf) as (consumer, _):
        with pytest.raises(UnauthorizedError, match="GROUP_AUTHORIZATION_FAILED"):
            await consumer.committed(A, timeout=2.0)


@pytest.mark.parametrize("given", ["x", ("t", -1), 7, None])
async def test_what_is_no_partition_is_refused_before_anything_is_asked(given: object) -> None:
    async with consuming(ground(t=1)) as (consumer, _):
        with pytest.raises(ArgumentError, match="TopicPartition"):
            await consumer.committed(given)  # type: ignore[arg-type]


# -- from a group to partitions by hand, and back ------------------------------------------


async def test_a_commit_by_hand_follows_the_leave_of_the_member_there_was() -> None:
    shelf = ground(t=1)
    async with consuming(shelf, "t", latency=0.2) as (consumer, group):
        await consumer.getone(timeout=10.0)
        consumer.unsubscribe()
        consumer.assign([A])
        assert (await consumer.commit({A: 7})).ok
        assert group.offset(A) == 7
    kinds = (LeaveGroupRequest, OffsetCommitRequest)
    asked = [each.request for each in shelf.broker(1).seen if isinstance(each.request, kinds)]
    assert isinstance(asked[-2], LeaveGroupRequest)
    assert isinstance(asked[-1], OffsetCommitRequest)
    assert asked[-1].member_id == ""


async def test_what_was_read_is_not_waited_for_once_everything_is_given_up() -> None:
    async with consuming(ground(t=1), "t") as (consumer, group):
        assert await consumer.getmany(timeout=10.0)
        before = anyio.current_time()
        consumer.unsubscribe()
        await until(lambda: not group.members, 10.0, "it has left")
        assert anyio.current_time() - before < 1.0
        assert group.offset(A) in (None, 0)


async def test_what_was_read_is_done_by_going_on_elsewhere() -> None:
    async with consuming(ground(t=1, u=1), "t") as (consumer, group):
        assert len((await consumer.getmany(timeout=10.0))[A]) == 10
        consumer.unsubscribe()
        consumer.assign([U])
        await until(lambda: not group.members, 10.0, "it has left")
        assert group.offset(A) == 10


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


# -- patterns and names --------------------------------------------------------------------


async def test_a_pattern_reads_a_topic_that_comes_later() -> None:
    shelf = ground(t=1)
    async with consuming(shelf, metadata_max_age=10.0) as (consumer, _):
        consumer.subscribe(pattern="[tu]$")
        await owns(consumer, A)
        shelf.add_topic("u", 1)
        shelf.fill(U, 1)
        await owns(consumer, A, U)
        assert (await consumer.getone(U, timeout=10.0)).offset == 0


async def test_internal_topics_are_read_when_they_are_asked_for() -> None:
    shelf = ground(t=1)
    shelf.topics["t"].internal = True
    async with consuming(shelf, exclude_internal_topics=False) as (consumer, _):
        consumer.subscribe(pattern="t")
        await owns(consumer, A)


async def test_asking_for_a_topic_makes_it_where_that_is_allowed() -> None:
    shelf = ground(t=1)
    asked: list[bool] = []
    answer = shelf.metadata

    def makes(request: MetadataRequest) -> Answer:
        asked.append(request.allow_auto_topic_creation)
        if request.allow_auto_topic_creation and "u" not in shelf.topics:
            shelf.add_topic("u", 1)
        return answer(request)

    shelf.broker(1).on(MetadataRequest, makes)
    async with consuming(shelf, "u", allow_auto_create_topics=True) as (consumer, _):
        await owns(consumer, U)
    assert all(asked)


async def test_a_topic_refused_to_a_member_is_heard_of_and_the_others_are_read() -> None:
    shelf = ground(t=1, u=1)
    shelf.topics["u"].error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    async with consuming(shelf, "t", "u") as (consumer, _):
        await owns(consumer, A)
        found = [await read_or_refusal(consumer) for _ in range(20)]
        assert sorted(found) == ["refused: u"] * 10 + ["t"] * 10
        shelf.topics["u"].error = 0
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


# -- topics that are deleted ---------------------------------------------------------------


def knows_topics(shelf: Shelf, group: ScriptedGroup) -> None:
    """Have commits about topics that are not there refused, as brokers do."""

    def commit(request: OffsetCommitRequest) -> OffsetCommitResponse:
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        group.answer(request)
        rows = tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=row.partition_index,
                        error_code=0 if topic.name in shelf.topics else missing,
                    )
                    for row in topic.partitions
                ),
            )
            for topic in request.topics
        )
        return OffsetCommitResponse(topics=rows)

    shelf.broker(1).on(OffsetCommitRequest, commit)


async def test_what_cannot_be_committed_of_a_deleted_topic_holds_nothing_up() -> None:
    shelf = ground(t=1, u=1)
    async with consuming(shelf, "t", "u", metadata_max_age=10.0) as (consumer, group):
        knows_topics(shelf, group)
        await owns(consumer, A, U)
        for _ in range(3):
            await consumer.getmany(timeout=1.0)
        shelf.delete_topic("u")
        before = anyio.current_time()
        with pytest.raises(CommitFailedError) as caught:
            await consumer.commit()
        assert caught.value.outcome.failed().keys() == {U}
        while consumer.assignment() != {A}:
            await consumer.getmany(timeout=0.5)
        assert anyio.current_time() - before < 20.0
        assert group.offset(A) == 10
