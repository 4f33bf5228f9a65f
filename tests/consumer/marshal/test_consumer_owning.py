"""What a consumer that claims comes to own, keeps, gives up and loses; and who is told."""

from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import CommitFailedError, FencedError, NotOwnedError
from kgroup.marshal.messages import Kind
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Cause, ChangeKind, Leave, MemberState, OwnershipChange, TopicPartition
from kgroup.wire.messages import FetchRequest, ProduceRequest
from tests.consumer.ground import fill
from tests.consumer.listening import Told, tps
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

    told = Told(assigned=look)
    async with claiming(broker, listener=told) as consumer:
        await gives(consumer, 1)
    assert seen == [[CLAIM, HEARTBEAT]]
    assert told.changes[0].cause is Cause.CLAIMED


@pytest.mark.slow
async def test_no_record_is_handed_out_while_on_assigned_runs() -> None:
    broker = kafka()
    go = anyio.Event()

    async def wait(consumer: C, change: OwnershipChange) -> None:
        await go.wait()

    async with claiming(broker, listener=Told(assigned=wait)) as consumer:
        assert await consumer.getmany(timeout=20.0) == {}
        go.set()
        assert await gives(consumer, 1) == [0]


async def test_on_revoked_comes_before_the_release_and_its_commit_goes_with_it() -> None:
    broker = kafka()
    seen: list[list[Kind]] = []

    async def commit(consumer: C, change: OwnershipChange) -> None:
        await consumer.commit({A: 4})
        seen.append([each.message.kind for each in said(broker, A)])

    told = Told(revoked=commit)
    async with claiming(broker, listener=told) as consumer:
        await gives(consumer, 1)
        consumer.unsubscribe()
        await until(lambda: said(broker, A, RELEASE), 20.0, "it is released")
    assert RELEASE not in seen[0]
    assert said(broker, A)[-1].words == (RELEASE, 4)
    assert told.kinds == [ChangeKind.ASSIGNED, ChangeKind.REVOKED]
    assert told.changes[1].cause is Cause.UNSUBSCRIBED


async def test_on_lost_comes_when_the_log_has_another_owner_and_nothing_more_is_handed_out() -> (
    None
):
    broker = kafka()
    told = Told()
    async with claiming(broker, listener=told) as consumer:
        await gives(consumer, 2)
        foreign(broker).take(0)
        await until(lambda: told.of(ChangeKind.LOST), 5.0, "it is told")
        assert told.changes[-1].cause is Cause.TAKEN
        assert await consumer.getmany(timeout=LEASE / 2) == {}
        assert not consumer.owns(A)


@pytest.mark.slow
async def test_what_was_lost_is_claimed_again_when_it_is_free() -> None:
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


@pytest.mark.slow
async def test_partitions_by_hand_are_claimed_in_the_log_like_any() -> None:
    broker = kafka(3)
    c = TopicPartition("t", 2)
    async with claiming(broker, name="one") as one, claiming(broker, name="two") as two:
        await until(lambda: len(one.assignment() | two.assignment()) == 3, 60.0, "all are owned")
        one.unsubscribe()
        two.unsubscribe()
        await owns(one)
        await owns(two)
        one.assign([A, c])
        await owns(one, A, c)
        assert said(broker, c)[-1].words[0] is HEARTBEAT
        two.assign([A])
        await anyio.sleep(2 * LEASE)
        assert two.assignment() == frozenset(), "there is no way round the log"
        await one.close()
        await owns(two, A)


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


async def test_another_subscription_hands_back_what_it_does_not_name() -> None:
    broker = kafka(u=1)
    u = TopicPartition("u", 0)
    async with claiming(broker) as consumer:
        await owns(consumer, A)
        consumer.subscribe("u")
        await owns(consumer, u)
        assert said(broker, A)[-1].words[0] is RELEASE


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
async def test_who_does_not_read_for_too_long_hands_back_and_comes_back_by_reading() -> None:
    """TestMessageExpiration in the original (never merged there), of records; here of polls."""
    broker = kafka()
    told = Told()
    async with claiming(broker, listener=told, max_poll_interval=30.0) as consumer:
        async for batch in consumer.batches():
            batch.done()
            await anyio.sleep(40.0)
            assert consumer.membership.state is MemberState.DORMANT
            break
        await until(lambda: said(broker, A, RELEASE), 20.0, "it is released")
        assert told.of(ChangeKind.REVOKED)[0].cause is Cause.POLL_TIMEOUT
        fill(broker, A, 1)
        record = await consumer.getone(timeout=60)
        assert consumer.membership.state is MemberState.STABLE
        assert record.offset in (0, 10)


async def test_the_later_of_two_processes_under_one_name_has_the_partition() -> None:
    """Scenario 21: the older one is fenced, and hands out nothing any more."""
    broker = kafka(records=100)
    async with claiming(broker, ports=virtual_ports(broker.dial)) as older:
        await gives(older, 1)
        await anyio.sleep(1.0)
        later = virtual_ports(broker.dial, seed=2)
        async with claiming(broker, ports=later, journal=None) as newer:
            await owns(newer, A)
            await until(lambda: older.failure, LEASE, "the older one is ended")
            with pytest.raises(FencedError, match="started again"):
                await older.getmany(timeout=LEASE)
            assert len(await gives(newer, 3)) == 3


@pytest.mark.slow
async def test_a_restart_within_the_lease_resumes_its_partitions_at_once() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 4)
        await consumer.commit()
        await consumer.close(leave=Leave.REMAIN)
    assert said(broker, A)[-1].words == (HEARTBEAT, 4)
    begun = anyio.current_time()
    ports = virtual_ports(broker.dial, seed=2)
    async with claiming(broker, ports=ports) as consumer:
        assert await gives(consumer, 1) == [4]
        assert anyio.current_time() - begun < 1.0


@pytest.mark.slow
async def test_another_name_waits_for_the_end_of_the_lease() -> None:
    broker = kafka()
    async with claiming(broker, name="one") as one:
        await gives(one, 4)
        await one.close(leave=Leave.REMAIN)
    begun = anyio.current_time()
    async with claiming(broker, name="two") as two:
        await gives(two, 1)
        assert LEASE - 0.5 < anyio.current_time() - begun < LEASE + 4.0


@pytest.mark.slow
async def test_two_members_share_a_topic_and_one_that_leaves_is_replaced_at_once() -> None:
    broker = kafka(4)
    async with claiming(broker, name="one") as one:
        await until(lambda: len(one.assignment()) == 4, 20.0, "one has all")
        async with claiming(broker, name="two") as two:
            await until(lambda: len(two.assignment()) == 2, 60.0, "two has its share")
            await until(lambda: len(one.assignment()) == 2, 1.0, "one has the rest")
        begun = anyio.current_time()
        await until(lambda: len(one.assignment()) == 4, 60.0, "one has all again")
        assert anyio.current_time() - begun < 5.0


@pytest.mark.slow
async def test_what_was_handed_back_for_another_is_had_again_as_soon_as_that_one_leaves() -> None:
    """1. Two partitions are left to the other for an interval of a minute; 2. it leaves within."""
    broker = kafka(4)
    async with claiming(broker, marshal_heartbeat_interval=60) as one:
        await until(lambda: len(one.assignment()) == 4, 20.0, "one has all")
        async with claiming(broker, name="two", marshal_heartbeat_interval=60) as two:
            await until(lambda: len(two.assignment()) == 2, 60.0, "two has its share")
        await until(lambda: len(one.assignment()) == 4, 10.0, "one has all again")


async def test_closing_says_where_the_next_one_begins() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 6)
        await consumer.commit()
    assert said(broker, A)[-1].words == (RELEASE, 6)
    async with claiming(broker, name="two") as consumer:
        assert await gives(consumer, 1) == [6]


async def test_a_record_of_an_ended_claim_cannot_be_committed() -> None:
    broker = kafka()
    async with claiming(broker) as consumer:
        record = await consumer.getone(timeout=30)
        consumer.unsubscribe()
        await owns(consumer)
        with pytest.raises((NotOwnedError, CommitFailedError)):
            await consumer.commit(record)


@pytest.mark.slow
async def test_who_cannot_confirm_in_time_hands_out_nothing_more() -> None:
    """Scenario 10: cut off from the log of claims only; records can still be fetched."""
    broker = kafka(records=1000)
    told = Told()
    async with claiming(broker, listener=told, max_poll_records=1) as consumer:
        await gives(consumer, 1)
        broker.answers.ignore(ProduceRequest, times=None)
        cut_at = anyio.current_time()
        last = cut_at
        with anyio.move_on_after(2 * LEASE):
            while True:
                await consumer.getone(timeout=2 * LEASE)
                last = anyio.current_time()
                await anyio.sleep(0.1)
        assert LEASE / 2 < last - cut_at < LEASE
        assert told.changes[-1].kind is ChangeKind.LOST
        assert told.changes[-1].cause is Cause.SESSION_EXPIRED
        assert tps(told.changes[-1].removed) == {A}
        broker.answers.clear()
