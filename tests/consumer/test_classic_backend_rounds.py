"""Rounds of the classic backend: requests, their connections, and parked requests."""

import anyio
from anyio.abc import ByteStream

from kgroup.types import ChangeKind, MemberState, Subscription, TopicPartition
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from tests.consumer.scene import (
    HEARTBEAT,
    REBALANCE,
    SESSION,
    joins,
    next_round,
    partitions,
    scene,
    settings,
)
from tests.consumer.wires import Wires
from tests.contracts.application import until


def topics_of(join: JoinGroupRequest) -> tuple[str, ...]:
    return decode_subscription(join.protocols[0].metadata).topics


async def test_a_first_join_takes_two_steps() -> None:
    async with scene() as on:
        member = await on.joined()
        assert [join.member_id for join in joins(on)] == ["", member.member_id]
        assert len(on.seen(SyncGroupRequest)) == 1


async def test_a_heartbeat_that_waits_for_its_connection_gives_way_to_the_next() -> None:
    """1. SyncGroup is out, and a heartbeat is due, whose connection takes its time; 2. SyncGroup is
    answered, and a heartbeat has to prove the generation; 3. the connection is there."""
    async with scene() as on:
        sync, connected, plain = on.answers.hold(SyncGroupRequest), anyio.Event(), on.dial
        connected.set()

        async def dial(host: str, port: int) -> ByteStream:
            await connected.wait()
            return await plain(host, port)

        on.dial = dial
        member = await on.member()
        await until(lambda: sync.asked is not None, 5.0, "SyncGroup is out")
        connected = anyio.Event()
        await anyio.sleep(1.5 * HEARTBEAT)
        sync.release()
        await until(
            lambda: member.backend.membership.state is MemberState.STABLE, 5.0, "it is stable"
        )
        assert on.seen(HeartbeatRequest) == []
        connected.set()
        await anyio.sleep(0.5)
        assert len(on.seen(HeartbeatRequest)) == 1
        await until(member.application.settled, 5.0, "its lease is proved")


async def test_a_second_heartbeat_gives_a_dead_connection_no_new_patience() -> None:
    """1. A heartbeat is written on a dead connection; 2. a round
    takes the next one, on the same connection, 1 s before the first one's time is up."""
    async with scene() as on:
        wires = on.dial = Wires(on.dial)
        chosen = settings()
        member = await on.joined(chosen)
        first = len(on.seen(HeartbeatRequest))
        on.answers.ignore(HeartbeatRequest, times=None)
        await until(lambda: len(on.seen(HeartbeatRequest)) > first, 2 * HEARTBEAT, "the first")
        given_up = on.seen(HeartbeatRequest)[first].at + chosen.heartbeat_timeout
        await anyio.sleep(given_up - 1.0 - anyio.current_time())
        before = set(wires.open)
        await next_round(member)
        await anyio.sleep(given_up - 0.1 - anyio.current_time())
        assert len(on.seen(HeartbeatRequest)) == first + 2
        assert before <= wires.open
        await anyio.sleep(0.2)
        assert before - wires.open, "the connection is given up"


async def test_a_heartbeat_that_was_answered_leaves_the_next_one_its_own_patience() -> None:
    async with scene() as on:
        wires = on.dial = Wires(on.dial)
        chosen = settings()
        member = await on.joined(chosen)
        count = len(on.seen(HeartbeatRequest))
        await until(lambda: len(on.seen(HeartbeatRequest)) > count, 2 * HEARTBEAT, "one")
        await anyio.sleep(1.0)
        on.answers.ignore(HeartbeatRequest, times=None)
        before = set(wires.open)
        await next_round(member)
        given_up = on.seen(HeartbeatRequest)[count + 1].at + chosen.heartbeat_timeout
        await anyio.sleep(given_up - 0.1 - anyio.current_time())
        assert before <= wires.open
        await anyio.sleep(0.2)
        assert before - wires.open, "the connection is given up"


async def test_heartbeats_go_on_on_a_connection_of_their_own_while_a_join_is_parked() -> None:
    async with scene() as on:
        member = await on.joined()
        claims = member.backend.membership.claims
        on.peers.expect_somebody()
        on.group.rebalance()
        joined = len(joins(on))
        await until(lambda: len(joins(on)) > joined, 2 * HEARTBEAT, "the member rejoins")
        parked = on.seen(JoinGroupRequest)[-1]
        await anyio.sleep(3 * SESSION)
        assert len(joins(on)) == joined + 1
        beats = [seen for seen in on.seen(HeartbeatRequest) if seen.at > parked.at]
        assert len(beats) >= 3 * SESSION / HEARTBEAT - 1
        assert {seen.connection for seen in beats}.isdisjoint({parked.connection})
        assert all(member.backend.may_deliver(claim) for claim in claims)


async def test_a_join_that_is_never_answered_is_given_up_and_its_connection_too() -> None:
    async with scene() as on:
        on.answers.lose(JoinGroupRequest)
        await on.joined()
        first, second = on.seen(JoinGroupRequest)[:2]
        assert REBALANCE + 5.0 <= second.at - first.at < REBALANCE + 6.0
        assert second.connection != first.connection


async def test_a_sync_that_is_never_answered_is_given_up_and_its_connection_too() -> None:
    async with scene() as on:
        on.answers.lose(SyncGroupRequest)
        await on.joined()
        first, second = on.seen(SyncGroupRequest)[:2]
        assert REBALANCE + 5.0 <= second.at - first.at < REBALANCE + 6.0
        assert second.connection != first.connection


async def test_a_new_join_does_not_wait_behind_a_parked_sync() -> None:
    """A coordinator answers one request of a connection at a time, and this one never."""
    async with scene() as on:
        member = await on.joined()
        held = on.answers.hold(SyncGroupRequest)
        on.group.rebalance()
        await until(lambda: held.asked, 10.0, "a sync is parked")
        member.backend.subscribe(None)
        await member.reaches(MemberState.UNSUBSCRIBED, within=5.0)
        member.backend.subscribe(Subscription(topics=frozenset({"t"})))
        await member.owns(partitions(0, 1, 2, 3), within=5.0)


async def test_partitions_are_kept_while_a_member_is_taken_in() -> None:
    async with scene() as on:
        member = await on.joined()
        before = {claim.tp: claim for claim in member.backend.membership.claims}
        on.peers.add("other", "t")
        await until(lambda: len(member.backend.membership.claims) == 2, 30.0, "half is given up")
        await until(member.application.settled, 30.0, "all is settled")
        assert all(before[claim.tp] == claim for claim in member.backend.membership.claims)
        await until(lambda: on.peers.given("other"), 30.0, "the other has the rest")
        assert on.peers.given("other") | member.backend.membership.partitions == {*before}
        assert member.application.of_kind(ChangeKind.LOST) == []


async def test_a_pattern_takes_new_topics_and_leaves_excluded_ones_out() -> None:
    async with scene(count=1, tx=1, u=1) as on:
        subscription = Subscription(pattern="t.*", exclude="tx")
        member = await on.joined(subscription=subscription)
        assert topics_of(joins(on)[-1]) == ("t",)
        on.broker.create_topic("t2", 2)
        both = partitions(0) | partitions(0, 1, topic="t2")
        await member.owns(both, within=400.0)
        assert topics_of(joins(on)[-1]) == ("t", "t2")


async def test_the_leader_follows_the_partition_counts_of_topics_only_others_subscribe_to() -> None:
    async with scene(count=1, u=1) as on:
        on.peers.add("other", "u")
        await on.joined()
        assert on.peers.given("other") == partitions(0, topic="u")
        on.broker.add_partitions("u", 2)
        await until(
            lambda: on.peers.given("other") == partitions(0, 1, topic="u"), 400.0, "both are given"
        )


async def test_the_leader_waits_for_topics_that_are_not_there_yet() -> None:
    async with scene(count=1) as on:
        on.peers.add("other", "t", "late")
        await on.joined()
        on.broker.create_topic("late", 1)
        late = TopicPartition("late", 0)
        await until(lambda: late in on.peers.given("other"), 400.0, "the new topic is given")


async def test_a_join_that_the_application_asked_for_carries_its_reason() -> None:
    async with scene() as on:
        member = await on.joined()
        member.backend.enforce_rebalance("more machines")
        await until(lambda: len(joins(on)) == 3, 10.0, "the round")
        assert joins(on)[-1].reason == "more machines"


async def test_a_follower_with_an_empty_assignment_stays_in_the_group() -> None:
    async with scene(count=1) as on:
        one = await on.joined()
        two = await on.member()
        await until(lambda: two.backend.membership.rebalances, 60.0, "two is in")
        await anyio.sleep(2 * SESSION)
        assert len(one.backend.membership.claims) + len(two.backend.membership.claims) == 1
        assert not any(s.error for s in (one, two))


async def test_a_membership_snapshot_is_made_once_until_it_changes() -> None:
    """It lists everything owned, and is looked at for each partition: that must not be a square."""
    async with scene() as on:
        member = await on.joined()
        shown = member.backend.membership
        assert member.backend.membership is shown
        on.group.rebalance()
        await until(lambda: member.backend.membership != shown, 30.0, "a round")
        assert member.backend.membership is not shown
