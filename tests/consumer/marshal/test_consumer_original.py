"""The original's tests of claims, consumers and clusters, for this consumer.

The names are those of the original's tests. Where the behaviour differs, the test says why.
"""

from dataclasses import replace

import anyio
import pytest

from kgroup.errors import ClosedError
from kgroup.marshal.messages import Kind
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import Leave, OffsetAndMetadata, TopicPartition
from tests.consumer.ground import fill
from tests.consumer.marshal.claiming import LEASE, A, B, claiming, foreign, gives, kafka, owns, said
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM, HEARTBEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION
C = TopicPartition("t", 2)


async def test_a_claim_is_written_as_claim_heartbeat_and_release() -> None:
    """TestPartitionLifecycleIntegration."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 4)
        await consumer.commit()
        async with claiming(broker, name="two") as other:
            await anyio.sleep(LEASE)
            assert not other.owns(A)
    kinds = [each.message.kind for each in said(broker, A)]
    assert kinds[:2] == [CLAIM, HEARTBEAT]
    assert said(broker, A, RELEASE)[0].message.tail == 4
    assert kinds.count(CLAIM) == 1 + (said(broker, A, CLAIM)[-1].message.client_id == b"two")


async def test_a_consumer_reads_and_is_of_no_use_once_it_is_closed() -> None:
    """TestNewConsumer."""
    broker = kafka(records=3)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 3) == [0, 1, 2]
        await consumer.close()
        with pytest.raises(ClosedError):
            await consumer.getone(timeout=1)


async def test_batches_done_out_of_order_commit_only_up_to_the_gap() -> None:
    """TestCommit: the original counts records, this one batches and the part of them that is said
    to be done."""
    broker = kafka(records=0)
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await owns(consumer, A)
        batches = []
        for _ in range(3):
            fill(broker, A, 2)
            async for batch in consumer.batches():
                batches.append(batch)
                break
        batches[1].done()
        batches[2].done()
        await consumer.commit_done()
        assert said(broker, A)[-1].message.tail == 0
        batches[0].done()
        await consumer.commit_done()
        assert said(broker, A)[-1].message.tail == 6


async def test_closing_without_a_release_keeps_the_claim_for_the_lease() -> None:
    """TestTerminateWithoutRelease."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await owns(consumer, A)
        await consumer.close(leave=Leave.REMAIN)
    assert said(broker, A, RELEASE) == []
    assert said(broker, A)[-1].message.kind is HEARTBEAT


async def test_a_reader_that_takes_nothing_does_not_hold_up_a_release() -> None:
    """TestTerminateDoesNotDeadlock."""
    broker = kafka(records=2000)
    async with claiming(broker, max_poll_records=1) as consumer:
        await gives(consumer, 1)
        await consumer.close(timeout=3.0)
    assert said(broker, A)[-1].message.kind is RELEASE


async def test_lag_is_never_below_zero() -> None:
    """TestCurrentLag."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 3)
        assert consumer.lag(A) == 7
        await consumer.seek_to_end()
        fill(broker, A, 2)
        await gives(consumer, 2)
        assert consumer.lag(A) == 0


async def test_all_records_of_two_partitions_are_read_once() -> None:
    """TestMultiClaim."""
    broker = kafka(2, records=50)
    async with claiming(broker) as consumer:
        found = {(r.tp, r.offset) for r in [await consumer.getone(timeout=30) for _ in range(100)]}
        assert len(found) == 100


@pytest.mark.parametrize("policy", ["greedy", "gradual", "fair"])
async def test_all_that_is_free_is_claimed_at_once_or_one_by_one(policy: str) -> None:
    """TestAggressiveClaim: a single member has all, with any policy."""
    broker = kafka(3)
    async with claiming(broker, claim_policy=policy) as consumer:
        begun = anyio.current_time()
        await owns(consumer, A, B, C)
        took = anyio.current_time() - begun
        assert policy == "gradual" or took < 3.0


@pytest.mark.parametrize("policy", ["greedy", "gradual", "fair"])
async def test_a_member_claims_no_more_than_max_claims(policy: str) -> None:
    """TestMaximumClaims."""
    broker = kafka(4)
    async with claiming(broker, claim_policy=policy, max_claims=2) as consumer:
        await until(lambda: len(consumer.assignment()) == 2, 30.0, "it has two")
        await anyio.sleep(2 * LEASE)
        assert len(consumer.assignment()) == 2


async def test_a_partition_that_is_added_is_claimed() -> None:
    """TestUpdatePartitionCounts."""
    broker = kafka()
    async with claiming(broker, metadata_max_age=2.0) as consumer:
        await owns(consumer, A)
        broker.add_partitions("t", 2)
        await owns(consumer, A, B)


async def test_the_first_claim_begins_at_the_commit_and_later_ones_at_the_log() -> None:
    """TestCommittedOffset."""
    broker = kafka()
    broker.group("g").commit({A: 2})
    async with claiming(broker) as consumer:
        assert await gives(consumer, 1) == [2]
        await consumer.commit()
        await until(lambda: broker.group("g").offsets[A].offset == 3, 5.0, "3 is committed beside")
        broker.group("g").commit({A: 2})
        assert (await consumer.committed(A))[A] == OffsetAndMetadata(3)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 1) == [3]


async def test_a_process_that_starts_again_resumes_by_a_claim_that_fences_the_one_before() -> None:
    """TestFastReclaim: the original writes heartbeats only, and an older process of the name goes
    on; here a claim comes first, by which the older one is fenced."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 4)
        await consumer.close(leave=Leave.REMAIN)
    ports = replace(virtual_ports(broker.dial, seed=7))
    async with claiming(broker, ports=ports) as consumer:
        await owns(consumer, A, within=1.0)
        assert len(said(broker, A, CLAIM)) == 2


async def test_the_owner_of_partition_0_owns_the_entire_topic() -> None:
    """TestTopicClaimBlocked."""
    broker = kafka(3)
    other = foreign(broker)
    epoch = other.claim()
    other.beat(0, epoch)
    async with claiming(broker, claim_entire_topic=True) as consumer:
        await anyio.sleep(LEASE)
        assert consumer.assignment() == frozenset()
        other.release(0, epoch)
        await owns(consumer, A, B, C)


async def test_an_owner_that_loses_a_part_of_an_entire_topic_gives_the_rest_back() -> None:
    """The end of TestTopicClaimPartial."""
    broker = kafka(2)
    async with claiming(broker, claim_entire_topic=True) as consumer:
        await owns(consumer, A, B)
        foreign(broker).take(0, partition=1)
        await until(lambda: not consumer.assignment(), 10.0, "all of it is given back")
        # It is alone, and claims the lock again at once.
        assert RELEASE in [each.message.kind for each in said(broker, A)]


async def test_a_closed_member_gets_no_share() -> None:
    """TestTerminatedMarshalRemovesSelfFromCluster."""
    broker = kafka(2)
    async with claiming(broker) as one:
        async with claiming(broker, name="two") as two:
            await until(lambda: len(two.assignment()) == 1, 60.0, "they share")
        await owns(one, A, B, within=5.0)
