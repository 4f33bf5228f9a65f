"""Ownership of a claiming consumer: gained, kept, given up, lost; and what its listener hears."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind
from kgroup.types import Cause, ChangeKind, MemberState, OwnershipChange, TopicPartition
from kgroup.wire.messages import FetchRequest
from tests.consumer.ground import fill
from tests.consumer.listening import Heard
from tests.consumer.marshal.claiming import LEASE, A, B, claiming, foreign, gives, kafka, owns, said
from tests.contracts.application import until

pytestmark = pytest.mark.anyio

HEARTBEAT, RELEASE, CLAIM = Kind.HEARTBEAT, Kind.RELEASING_PARTITION, Kind.CLAIMING_PARTITION

C = Consumer[Any, Any]


async def test_on_assigned_comes_after_the_first_heartbeat_and_before_any_record() -> None:
    broker = kafka()
    seen: list[list[Kind]] = []

    async def look(consumer: C, change: OwnershipChange) -> None:
        seen.append([each.message.kind for each in said(broker, A)])
        await anyio.sleep(1.0)
        assert broker.requests_of(FetchRequest)

    heard = Heard(assigned=look)
    async with claiming(broker, listener=heard) as consumer:
        await gives(consumer, 1)
    assert seen == [[CLAIM, HEARTBEAT]]
    assert heard.changes[0].cause is Cause.CLAIMED


async def test_on_revoked_comes_before_the_release_and_its_commit_goes_with_it() -> None:
    broker = kafka()
    seen: list[list[Kind]] = []

    async def commit(consumer: C, change: OwnershipChange) -> None:
        await consumer.commit({A: 4})
        seen.append([each.message.kind for each in said(broker, A)])

    heard = Heard(revoked=commit)
    async with claiming(broker, listener=heard) as consumer:
        await gives(consumer, 1)
        consumer.unsubscribe()
        await until(lambda: said(broker, A, RELEASE), 20.0, "it is released")
    assert RELEASE not in seen[0]
    assert said(broker, A)[-1].words == (RELEASE, 4)
    assert heard.kinds == [ChangeKind.ASSIGNED, ChangeKind.REVOKED]
    assert heard.changes[1].cause is Cause.UNSUBSCRIBED


async def test_on_lost_comes_when_the_log_has_another_owner_and_nothing_more_is_handed_out() -> (
    None
):
    broker = kafka()
    heard = Heard()
    async with claiming(broker, listener=heard) as consumer:
        await gives(consumer, 2)
        foreign(broker).take(0)
        await until(lambda: heard.of(ChangeKind.LOST), 5.0, "on_lost is called")
        assert heard.changes[-1].cause is Cause.TAKEN
        assert await consumer.getmany(timeout=LEASE / 2) == {}
        assert not consumer.owns(A)


@pytest.mark.slow
async def test_a_lost_partition_is_claimed_again_when_it_is_free() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 1)
        foreign(broker).take(6)
        await until(lambda: not consumer.owns(A), 5.0, "it is lost")
        assert await gives(consumer, 1, timeout=200) == [6], "where the other was"


async def test_a_token_is_the_offset_of_the_claim_and_orders_owners() -> None:
    broker = kafka()
    tokens = []
    for name in ("one", "two"):
        async with claiming(broker, name=name) as consumer:
            async for batch in consumer.batches():
                tokens.append(batch.token)
                break
    assert None not in tokens
    claims = said(broker, A, CLAIM)
    assert [token.generation_id for token in tokens if token] == [each.offset for each in claims]
    assert [token.member_id.partition("/")[0] for token in tokens if token] == ["one", "two"]


async def test_partitions_by_hand_can_be_exchanged() -> None:
    broker = kafka(2)
    async with claiming(broker) as consumer:
        consumer.unsubscribe()
        consumer.assign([A])
        await owns(consumer, A)
        consumer.assign([B])
        await owns(consumer, B)
        assert said(broker, A)[-1].words[0] is RELEASE


async def test_a_pattern_takes_a_topic_that_is_made_later() -> None:
    broker = kafka()
    new = TopicPartition("t-new", 0)
    async with claiming(broker, metadata_max_age=5.0) as consumer:
        consumer.unsubscribe()
        consumer.subscribe(pattern="t.*")
        await owns(consumer, A)
        broker.create_topic("t-new", 1)
        await owns(consumer, A, new)
        assert said(broker, new)[-1].words[0] is HEARTBEAT


async def test_heartbeats_of_a_paused_partition_go_on_and_nothing_is_handed_out() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 1)
        consumer.pause(A)
        before = len(said(broker, A, HEARTBEAT))
        assert await consumer.getmany(timeout=2 * LEASE) == {}
        assert consumer.owns(A)
        assert len(said(broker, A, HEARTBEAT)) >= before + 4
        consumer.resume(A)
        assert await gives(consumer, 1) == [1]


async def test_a_seek_says_nothing_in_the_log_until_it_is_committed() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 5)
        await consumer.commit()
        consumer.seek(A, 2)
        assert await gives(consumer, 1) == [2]
        assert said(broker, A)[-1].words == (HEARTBEAT, 5)
        await consumer.commit()
        assert (RELEASE, 3) in [each.words for each in said(broker, A)]
        assert said(broker, A)[-1].words == (HEARTBEAT, 3)


@pytest.mark.slow
async def test_a_member_beyond_max_poll_interval_hands_back_and_returns_by_reading() -> None:
    """TestMessageExpiration in the original (never merged there), of records; here of polls."""
    broker = kafka()
    heard = Heard()
    async with claiming(broker, listener=heard, max_poll_interval=30.0) as consumer:
        async for batch in consumer.batches():
            batch.done()
            await anyio.sleep(40.0)
            assert consumer.membership.state is MemberState.DORMANT
            break
        await until(lambda: said(broker, A, RELEASE), 20.0, "it is released")
        assert heard.of(ChangeKind.REVOKED)[0].cause is Cause.POLL_TIMEOUT
        fill(broker, A, 1)
        record = await consumer.getone(timeout=60)
        assert consumer.membership.state is MemberState.STABLE
        assert record.offset in (0, 10)


@pytest.mark.slow
async def test_partitions_handed_back_are_claimed_again_when_the_other_leaves() -> None:
    """1. Two partitions are left to the other for an interval of a minute; 2. it leaves within."""
    broker = kafka(4)
    async with claiming(broker, marshal_heartbeat_interval=60) as one:
        await until(lambda: len(one.assignment()) == 4, 20.0, "one has all")
        async with claiming(broker, name="two", marshal_heartbeat_interval=60) as two:
            await until(lambda: len(two.assignment()) == 2, 60.0, "two has its share")
        await until(lambda: len(one.assignment()) == 4, 10.0, "one has all again")
