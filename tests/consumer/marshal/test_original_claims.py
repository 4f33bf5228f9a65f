"""The original's tests of claiming, entire topics and commits, for this consumer.

Names are those of the original's tests; those of whole consumers are in `test_consumer_original`.
"""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.marshal.messages import Kind, Message, decode
from kgroup.testing import InProcessBroker
from kgroup.types import ChangeKind, TopicPartition
from kgroup.wire.messages import OffsetFetchRequest
from tests.consumer.ground import fill
from tests.consumer.listening import Heard, tps
from tests.consumer.marshal.claiming import LEASE, A, B, claiming, foreign, gives, kafka, owns, said
from tests.consumer.marshal.stage import LOG
from tests.contracts.application import until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CLAIM, HEARTBEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION
U = TopicPartition("u", 0), TopicPartition("u", 1)

C = Consumer[Any, Any]


# -- one partition -----------------------------------------------------------------------------


async def test_a_partition_is_claimed_by_one_member_and_others_stay_free() -> None:
    """TestClaimPartitionIntegration: had, asked for again, refused to another; the next one is
    free."""
    broker = kafka(2)
    async with claiming(broker) as one, claiming(broker, name="two") as two:
        one.unsubscribe()
        two.unsubscribe()
        one.assign([A])
        await owns(one, A)
        one.assign([A])
        two.assign([A, B])
        await owns(two, B)
        await anyio.sleep(2 * LEASE)
        assert one.assignment() == {A}
        assert two.assignment() == {B}
    assert said(broker, A, CLAIM)[0].message.client_id == b"one"
    assert len(said(broker, B, CLAIM)) == 1


async def test_an_owned_partition_is_not_claimed_again() -> None:
    """TestTryClaimPartition."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await owns(consumer, A)
        consumer.subscribe("t")
        await anyio.sleep(3 * LEASE)
        assert len(said(broker, A, CLAIM)) == 1


async def test_a_slow_start_behind_an_accepted_claim_is_no_second_claim() -> None:
    """TestDoubleClaim: 1. the claim is accepted; 2. its position is long in coming; 3. meanwhile
    the partition is ours in the log, and not yet in hand."""
    broker = kafka()
    heard = Heard()
    slow = broker.answers.hold_request(OffsetFetchRequest)
    async with claiming(broker, listener=heard) as consumer:
        await until(lambda: slow.count, 20.0, "its position is asked for")
        await anyio.sleep(LEASE / 2)
        assert heard.changes == []
        slow.release()
        await owns(consumer, A)
        await anyio.sleep(LEASE)
        assert len(said(broker, A, CLAIM)) == 1
        assert heard.kinds == [ChangeKind.ASSIGNED]


async def test_a_topic_that_is_not_there_has_nothing_to_claim() -> None:
    """TestNewMarshaler: an unknown topic has no partitions; others are claimed beside it."""
    broker = kafka()
    async with claiming(broker, "t", "unknown") as consumer:
        await owns(consumer, A)
        await anyio.sleep(LEASE)
        assert consumer.assignment() == {A}


async def test_a_partition_is_released_once() -> None:
    """TestRelease: the second release is none."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await owns(consumer, A)
        consumer.unsubscribe()
        await owns(consumer)
        await until(lambda: said(broker, A, RELEASE), 5.0, "it is released")
        await consumer.close()
    assert len(said(broker, A, RELEASE)) == 1


async def test_closing_frees_partitions_at_once() -> None:
    """TestTerminateWithRelease."""
    broker = kafka()
    async with claiming(broker) as one:
        await owns(one, A)
    async with claiming(broker, name="two") as two:
        await owns(two, A, within=1.0)


async def test_closing_takes_the_sign_of_presence_back() -> None:
    """TestConsumerRemovesSelfFromMarshal: the others are not to count it any more."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await owns(consumer, A)
        assert signs(broker)[-1] is HEARTBEAT
    assert signs(broker)[-1] is RELEASE


def signs(broker: InProcessBroker) -> list[Kind]:
    """Return the signs of presence, in order."""
    found = [decode(record.value or b"") for record in broker.partition(LOG).records()]
    shown = [each for each in found if isinstance(each, Message)]
    return [each.kind for each in shown if each.topic == b"t~members"]


# -- topics had whole --------------------------------------------------------------------------


async def test_a_topic_that_is_had_whole_is_had_with_all_its_partitions() -> None:
    """TestTopicClaim."""
    broker = kafka(3)
    async with claiming(broker, claim_entire_topic=True) as consumer:
        await owns(consumer, *(TopicPartition("t", number) for number in range(3)))
    first = [said(broker, TopicPartition("t", number), CLAIM)[0].offset for number in range(3)]
    assert first[0] == min(first), "the lock comes first"


async def test_a_part_that_another_has_is_had_when_it_is_free() -> None:
    """TestTopicClaimPartial: partition 1 is somebody's; the lock, and 1 once it is released."""
    broker = kafka(2)
    other = foreign(broker)
    epoch = other.claim(1)
    other.beat(0, epoch, partition=1)
    heard = Heard()
    async with claiming(broker, claim_entire_topic=True, listener=heard) as consumer:
        await owns(consumer, A)
        other.say(RELEASE, 1, 0, epoch)
        await owns(consumer, A, B)
    assert [tps(change.added) for change in heard.of(ChangeKind.ASSIGNED)] == [{A}, {B}]


async def test_two_entire_topics_are_assigned_once_each() -> None:
    """TestMultiTopicClaim."""
    broker = kafka(2, u=2)
    heard = Heard()
    async with claiming(broker, "t", "u", claim_entire_topic=True, listener=heard) as consumer:
        await owns(consumer, A, B, *U)
        await anyio.sleep(3 * LEASE)
        gained = [claim.tp for change in heard.of(ChangeKind.ASSIGNED) for claim in change.added]
        assert sorted(gained) == [A, B, *U]
        assert heard.of(ChangeKind.REVOKED) == []


async def test_of_topics_had_whole_no_more_than_allowed_are_had() -> None:
    """TestMultiTopicClaimWithLimit: one topic, with all its partitions."""
    broker = kafka(2, u=2)
    options: dict[str, Any] = {"claim_entire_topic": True, "max_claims": 1}
    async with claiming(broker, "t", "u", **options) as one:
        await until(lambda: len(one.assignment()) == 2, 20.0, "it has a topic")
        await anyio.sleep(3 * LEASE)
        mine = one.assignment()
        assert mine in ({A, B}, {*U})
        async with claiming(broker, "t", "u", name="two", **options) as two:
            await owns(two, *({A, B, *U} - mine))
            assert one.assignment() == mine


# -- commits -----------------------------------------------------------------------------------

COMMITS: dict[str, Callable[[C, Any], Any]] = {
    "its record": lambda consumer, record: consumer.commit(record),
    "partition and offset": lambda consumer, record: consumer.commit({A: record.offset + 1}),
}


@pytest.mark.parametrize("way", COMMITS)
async def test_a_record_is_committed_by_itself_or_by_its_place(way: str) -> None:
    """TestCommitByToken: the original's token is topic, partition and offset."""
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        for _ in range(3):
            record = await consumer.getone(timeout=30)
        assert (await COMMITS[way](consumer, record)).ok
        assert said(broker, A)[-1].words == (HEARTBEAT, 3)


async def test_done_records_are_in_the_log_when_commit_done_returns() -> None:
    """TestFlush of a claim: the gapless part, and later done records with the next one."""
    broker = kafka()
    async with claiming(broker, enable_auto_commit=False) as consumer:
        async for batch in consumer.batches():
            for done in (2, 7, len(batch)):
                batch.done(done)
                assert (await consumer.commit_done()).ok
                assert said(broker, A)[-1].words == (HEARTBEAT, done)
            break


async def test_a_commit_of_everything_says_each_partitions_own_position() -> None:
    """TestFlush of a consumer: 3 of one and 2 of the other."""
    broker = kafka(2, records=0)
    async with claiming(broker, enable_auto_commit=False) as consumer:
        await owns(consumer, A, B)
        fill(broker, A, 3)
        fill(broker, B, 2)
        await gives(consumer, 5)
        await consumer.commit()
        assert said(broker, A)[-1].words == (HEARTBEAT, 3)
        assert said(broker, B)[-1].words == (HEARTBEAT, 2)


async def test_closing_releases_at_the_done_position() -> None:
    """TestCommitOutstanding: one of six is done; the five others are the next one's."""
    broker = kafka(records=6)
    async with claiming(broker) as consumer:
        async for batch in consumer.batches():
            assert len(batch) == 6
            batch.done(1)
            break
    assert said(broker, A)[-1].words == (RELEASE, 1)
    async with claiming(broker) as consumer:
        assert await gives(consumer, 5) == [*range(1, 6)]


# -- reading -----------------------------------------------------------------------------------


async def test_each_fetch_updates_the_end_of_its_partition() -> None:
    """TestOffsetUpdates."""
    broker = kafka()
    async with claiming(broker) as consumer:
        await gives(consumer, 10)
        assert consumer.lag(A) == 0
        fill(broker, A, 4)
        await until(lambda: consumer.lag(A) == 4, 5.0, "the end is known")


async def test_records_come_in_order_within_a_partition_and_each_once_it_is_committed() -> None:
    """TestOrderedConsume (removed there in 2016): a consumer that commits each record before it
    asks for the next has the log at most one record behind."""
    broker = kafka(2, records=4)
    async with claiming(broker, enable_auto_commit=False) as consumer:
        found: dict[TopicPartition, list[int]] = {A: [], B: []}
        for _ in range(8):
            record = await consumer.getone(timeout=30)
            assert max(each.message.tail for each in said(broker, record.tp)) == record.offset
            found[record.tp].append(record.offset)
            await consumer.commit(record)
        assert found == {A: [0, 1, 2, 3], B: [0, 1, 2, 3]}


async def test_with_portions_of_one_no_second_record_is_out_before_the_first_is_published() -> None:
    """TestStrictOrdering (removed there in 2016): one record of a partition at a time, at most
    once, and published in the log before it is handed out."""
    broker = kafka(records=4)
    options: dict[str, Any] = {"guarantee": "at_most_once", "at_most_once_records": 1}
    async with claiming(broker, **options) as consumer:
        for offset in range(4):
            assert await gives(consumer, 1) == [offset]
            assert said(broker, A, HEARTBEAT)[-1].message.tail == offset + 1


async def test_reading_goes_on_when_one_of_the_partitions_is_lost() -> None:
    """TestMessagePump (never merged there): buffered records of the lost one are dropped."""
    broker = kafka(2, records=50)
    async with claiming(broker, max_poll_records=1) as consumer:
        await owns(consumer, A, B)
        await gives(consumer, 4)
        foreign(broker).take(0, partition=1)
        await owns(consumer, A)
        rest = [await consumer.getone(timeout=30) for _ in range(40)]
        assert {record.tp for record in rest} == {A}
