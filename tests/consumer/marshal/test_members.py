"""Whole consumers that claim: the promises to each, whatever happens to the others."""

import anyio
import pytest

from kgroup.errors import (
    CommitFailedError,
    CoordinationTopicError,
    FencedError,
    GroupError,
    NotOwnedError,
    UnsupportedError,
)
from kgroup.marshal.messages import Kind
from kgroup.testing.virtual_time import virtual_wall
from kgroup.types import Leave, TopicPartition
from kgroup.wire.messages import OffsetCommitRequest, ProduceRequest
from tests.consumer.marshal.crew import INTERVAL, LEASE, Crew, Process, crew, until
from tests.consumer.marshal.stage import KEY, LOG, Writer

pytestmark = pytest.mark.anyio

CLAIM, BEAT, RELEASE = Kind.CLAIMING_PARTITION, Kind.HEARTBEAT, Kind.RELEASING_PARTITION


# -- having and sharing ------------------------------------------------------------------------


async def test_a_member_claims_confirms_and_only_then_reads() -> None:
    async with crew(10) as group:
        alone = group.enter()
        await until(lambda: alone.offsets == [*range(10)], within=5.0)
        assert [message.kind for message in group.messages()[:2]] == [CLAIM, BEAT]
        assert alone.heard == ["gained"]


@pytest.mark.slow
async def test_a_heartbeat_follows_every_third_of_the_interval() -> None:
    async with crew() as group:
        alone = group.enter(marshal_heartbeat_interval=60)
        await until(lambda: alone.has == [0])
        await anyio.sleep(120)
        assert len(group.messages(BEAT)) in range(6, 9)


@pytest.mark.slow
async def test_members_come_to_even_shares_and_a_single_member_has_all() -> None:
    async with crew(partitions=4) as group:
        first = group.enter()
        await until(lambda: first.has == [0, 1, 2, 3])
        second = group.enter()
        await until(lambda: len(first.has) == len(second.has) == 2)
        await second.consumer.close()
        await until(lambda: first.has == [0, 1, 2, 3])


@pytest.mark.slow
async def test_a_slow_member_keeps_its_partitions() -> None:
    async with crew(100, partitions=2) as group:
        slow = group.enter(work=50.0, most=1)
        await until(lambda: slow.has == [0, 1])
        await anyio.sleep(200)
        assert slow.has == [0, 1]
        assert "revoked" not in slow.heard


@pytest.mark.slow
async def test_claims_of_many_members_for_one_partition_are_few() -> None:
    async with crew() as group:
        owner = group.enter()
        await until(lambda: owner.has == [0])
        waiting = [group.enter() for _ in range(5)]
        await anyio.sleep(LEASE)
        before = len(group.messages(CLAIM))
        owner.die()
        await until(lambda: any(each.has for each in waiting))
        assert len(group.messages(CLAIM)) - before <= 3


async def test_a_new_owner_begins_where_the_last_one_committed() -> None:
    async with crew(10) as group:
        first = group.enter()
        await until(lambda: len(first.seen) == 10)
        second = group.enter()
        await first.consumer.commit({KEY: 4})
        await first.consumer.close()
        await until(lambda: second.seen)
        assert second.offsets[0] == 4


# -- falling silent ----------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_member_that_is_cut_off_stops_before_another_begins() -> None:
    async with crew(1000) as group:
        first = group.enter(work=0.1, most=1)
        await until(lambda: len(first.seen) > 10)
        second = group.enter()
        first.cable.cut()
        await until(lambda: second.seen)
        assert first.handed_out_at[-1] < second.handed_out_at[0]
        assert first.heard == ["gained", "lost"]
        handed_out = len(first.seen)
        await first.cable.mend()
        await anyio.sleep(60)
        assert len(first.seen) == handed_out


async def test_a_commit_after_the_claim_is_over_is_refused() -> None:
    async with crew(10) as group:
        first = group.enter()
        await until(lambda: len(first.seen) == 10)
        first.cable.cut()
        await until(lambda: first.heard == ["gained", "lost"])
        with pytest.raises((NotOwnedError, CommitFailedError)):
            await first.consumer.commit({KEY: 10})


@pytest.mark.slow
async def test_a_group_coordinator_that_takes_no_commits_costs_no_lease() -> None:
    async with crew(10) as group:
        group.broker.answers.ignore(OffsetCommitRequest)
        alone = group.enter()
        await until(lambda: len(alone.seen) == 10)
        with anyio.fail_after(5):
            await alone.consumer.commit()
        await anyio.sleep(6 * LEASE)
        assert alone.heard == ["gained"]
        assert group.messages()[-1].tail == 10


async def test_a_claim_whose_answer_was_lost_is_settled_by_reading() -> None:
    async with crew(10) as group:
        group.broker.answers.hang_up(ProduceRequest, times=1)
        alone = group.enter(claim_policy="greedy")
        await until(lambda: alone.has == [0], within=10.0)
        assert len(group.messages(CLAIM)) == 1


@pytest.mark.slow
async def test_closing_ends_in_time_though_no_broker_is_there() -> None:
    async with crew(10) as group:
        alone = group.enter()
        await until(lambda: len(alone.seen) == 10)
        group.broker.node(1).kill()
        with anyio.fail_after(5.5):
            await alone.consumer.close(timeout=5.0)


# -- restarts and twins ------------------------------------------------------------------------


async def test_a_static_member_that_starts_again_within_its_lease_resumes_at_once() -> None:
    async with crew(10) as group:
        first = group.enter(group_instance_id="till-1", marshal_heartbeat_interval=60)
        await until(lambda: len(first.seen) == 10)
        await first.consumer.commit({KEY: 7})
        first.die()
        second = group.enter(group_instance_id="till-1", marshal_heartbeat_interval=60)
        await until(lambda: second.seen, within=2.0)
        assert second.offsets[0] == 7


async def test_a_static_member_that_remains_releases_nothing() -> None:
    """TestTerminate of a claim, in the original."""
    async with crew() as group:
        first = group.enter(group_instance_id="till-1")
        await until(lambda: first.has == [0])
        await first.consumer.close(leave=Leave.REMAIN)
        assert not group.messages(RELEASE)


async def test_the_older_of_two_twins_ends() -> None:
    async with crew(10) as group:
        first = group.enter(group_instance_id="till-1")
        await until(lambda: first.has == [0])
        await anyio.sleep(1)
        second = group.enter(group_instance_id="till-1")
        await until(lambda: second.has == [0], within=5.0)
        await first.over.wait()
        assert isinstance(first.error, FencedError)


# -- what cannot be ----------------------------------------------------------------------------


async def test_the_token_of_a_later_owner_is_higher() -> None:
    async with crew(10) as group:
        tokens = []
        for _ in range(2):
            process = group.enter(reads=False)
            await process.gained(0)
            (batch,) = (await process.consumer.getmany(timeout=1.0)).values()
            assert batch.token is not None
            tokens.append(batch.token.generation_id)
            del batch
            await process.consumer.close()
        assert tokens[0] < tokens[1]


async def test_transactions_and_rounds_are_refused_by_name() -> None:
    async with crew() as group:
        alone = group.enter()
        await until(lambda: alone.has == [0])
        with pytest.raises(UnsupportedError, match="token"):
            alone.consumer.group_metadata()
        with pytest.raises(UnsupportedError, match="rounds"):
            alone.consumer.enforce_rebalance()


@pytest.mark.slow
async def test_exact_partitions_are_claimed_like_any() -> None:
    async with crew(partitions=2) as group:
        one = TopicPartition("t", 1)
        first, second = (group.enter(reads=False) for _ in range(2))
        await anyio.sleep(0.1)
        for each in (first, second):
            each.consumer.unsubscribe()
            each.consumer.assign([one])
        await until(lambda: first.has == [1] or second.has == [1])
        await anyio.sleep(LEASE)
        assert sorted([first.has, second.has]) == [[], [1]]


async def test_a_group_that_has_members_with_the_coordinator_is_refused() -> None:
    async with crew() as group:
        native = group.enter(backend="classic", marshal_heartbeat_interval=60)
        await until(lambda: native.has == [0])
        claiming = group.enter()
        await claiming.over.wait()
        assert isinstance(claiming.error, GroupError)
        assert "one way at a time" in str(claiming.error)


async def test_the_rules_of_the_original_are_refused_on_brokers_it_cannot_use() -> None:
    async with crew(release="4.3.1") as group:
        there = group.enter(compat="go", marshal_heartbeat_interval=60)
        await there.over.wait()
        assert isinstance(there.error, UnsupportedError)


async def test_a_missing_coordination_topic_ends_the_consumer_by_name() -> None:
    async with crew() as group:
        lonely = group.enter(coordination_topic="elsewhere")
        await lonely.over.wait()
        assert isinstance(lonely.error, CoordinationTopicError)
        assert "kgroup marshal init" in str(lonely.error)


@pytest.mark.slow
async def test_another_number_of_coordination_partitions_ends_the_consumer_by_name() -> None:
    async with crew() as group:
        alone = group.enter()
        await until(lambda: alone.has == [0])
        group.broker.add_partitions(LOG, 2)
        await alone.over.wait()
        assert isinstance(alone.error, CoordinationTopicError)
        assert not group.messages(RELEASE)


async def test_partitions_are_lost_at_once_when_the_coordination_topic_is_deleted() -> None:
    """1. The topic goes; 2. ownership is unknown from then on; 3. nothing can be released in
    it, so closing waits for nothing, and the listener is not asked to commit."""
    async with crew() as group:
        alone = group.enter()
        await until(lambda: alone.has == [0])
        group.broker.delete_topic(LOG)
        await until(alone.over.is_set, within=INTERVAL)
        assert isinstance(alone.error, CoordinationTopicError)
        assert alone.heard == ["gained", "lost"]


async def test_a_restart_resumes_all_it_had_also_beyond_its_share() -> None:
    """1. It has all; 2. another one comes; 3. it dies before it has shared, and starts again: until
    its lease is over no other member could own the rest."""
    async with crew(partitions=4) as group:
        before = group.enter(group_instance_id="a")
        await until(lambda: before.has == [0, 1, 2, 3])
        other = group.enter(group_instance_id="b")
        await anyio.sleep(1.0)
        before.die()
        again = group.enter(group_instance_id="a")
        await until(lambda: again.has == [0, 1, 2, 3], within=LEASE / 2)
        assert other.has == []


# -- beside members of the original library ----------------------------------------------------


async def beside(group: Crew, **options: object) -> tuple[Process, Writer]:
    """Let a member own the partition, and return a peer that writes without headers."""
    ours = group.enter(work=0.1, most=1, marshal_heartbeat_interval=60, **options)
    await until(lambda: ours.has == [0])
    return ours, Writer(group.broker.partition(LOG), "peer", headerless=True, now=virtual_wall)


async def test_a_heartbeat_of_the_original_stops_the_owner_at_once() -> None:
    async with crew(1000) as group:
        ours, peer = await beside(group)
        peer.beat(5)
        began = anyio.current_time()
        await until(lambda: ours.heard == ["gained", "lost"], within=1.0)
        assert ours.handed_out_at[-1] <= began + 0.2


async def test_at_most_once_ends_beside_a_peer_that_does_not_keep_its_rules() -> None:
    async with crew(1000) as group:
        ours, peer = await beside(group, guarantee="at_most_once")
        peer.beat(5)
        await ours.over.wait()
        assert "at-most-once" in str(ours.error)


async def test_a_short_interval_ends_beside_a_peer_that_announces_none() -> None:
    async with crew() as group:
        ours = group.enter()
        await until(lambda: ours.has == [0])
        Writer(group.broker.partition(LOG), "peer", headerless=True).beat(5)
        await ours.over.wait()
        assert "60 s" in str(ours.error)


# -- pauses ------------------------------------------------------------------------------------


async def test_a_paused_group_hands_everything_back_and_claims_again_when_it_is_over() -> None:
    async with crew(10) as group:
        alone = group.enter()
        await until(lambda: alone.has == [0])
        admin = Writer(group.broker.partition(LOG), "admin", now=virtual_wall)
        until_then = int(virtual_wall()) + 20
        admin.say(Kind.RELEASE_GROUP, 0, until_then, topic="")
        await until(lambda: alone.heard == ["gained", "revoked"], within=2.0)
        await until(lambda: alone.has == [0], within=25.0)
        assert virtual_wall() >= until_then


# -- going back --------------------------------------------------------------------------------


async def test_a_lower_position_is_released_and_claimed_anew() -> None:
    async with crew(10) as group:
        alone = group.enter()
        await until(lambda: len(alone.seen) == 10)
        await alone.consumer.commit({KEY: 8})
        await alone.consumer.commit({KEY: 3})
        kinds = [message.kind for message in group.messages()[-3:]]
        assert kinds == [RELEASE, CLAIM, BEAT]
        assert group.messages()[-1].tail == 3
        assert alone.heard == ["gained"]
