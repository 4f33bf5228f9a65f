"""Static members (KIP-345, KIP-814) of a group: coming back, leading, being replaced.

`broker_facts.md` S: in Stable a coordinator answers one that comes back with the old generation and
its old assignment, whatever it subscribes to now, and begins no round.
"""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import ChangeKind, Leave, MemberState
from kgroup.wire.messages import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)
from tests.consumer.scene import (
    HEARTBEAT,
    SESSION,
    claims_of,
    offset,
    partitions,
    scene,
    settings,
)
from tests.consumer.twins import METADATA_AGE, both, ended, settled, twins
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

# -- the wire -----------------------------------------------------------------------------------


async def test_every_request_of_a_static_member_carries_its_instance_id() -> None:
    async with scene() as on:
        member = await on.joined(settings(group_instance_id="a"))
        on.group.rebalance()
        await anyio.sleep(2 * HEARTBEAT)
        assert (await member.backend.commit({member.claim(0): offset(5)})).ok
        await ended(member, Leave.LEAVE)
        named: dict[str, set[object]] = {}
        for kind in (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, OffsetCommitRequest):
            asked = [seen.request for seen in on.seen(kind)]
            named[kind.__name__] = {getattr(each, "group_instance_id", None) for each in asked}
        (leave,) = on.seen(LeaveGroupRequest)
        assert isinstance(leave.request, LeaveGroupRequest)
        named["LeaveGroupRequest"] = {row.group_instance_id for row in leave.request.members}
        assert len(named) == 5
        assert all(found == {"a"} for found in named.values()), named


async def test_a_static_member_that_is_told_to_leave_is_gone_at_once_and_the_others_go_on() -> None:
    async with scene() as on:
        leader, follower = await twins(on)
        await ended(follower, Leave.LEAVE)
        assert {each.instance_id for each in on.group.members} == {"a"}
        await leader.owns(partitions(0, 1, 2, 3))


# -- coming back --------------------------------------------------------------------------------


async def test_a_restart_with_the_same_topics_begins_no_round_and_gives_the_same_partitions() -> (
    None
):
    async with scene() as on:
        leader, follower = await twins(on)
        before, told = on.group.generation, len(leader.application.told)
        held = claims_of(follower)
        await ended(follower)
        back = await on.joined(settings(group_instance_id="b"))
        await anyio.sleep(3 * SESSION)
        assert claims_of(back) == held
        assert on.group.generation == before
        assert len(leader.application.told) == told


async def test_a_follower_that_comes_back_with_a_topic_more_is_given_its_share_of_it() -> None:
    async with scene(u=4) as on:
        leader = await on.joined(settings("roundrobin", group_instance_id="a"))
        follower = await on.joined(settings("roundrobin", group_instance_id="b"))
        before = on.group.generation
        await ended(follower)
        wanted = both("t", "u")
        back = await on.joined(settings("roundrobin", group_instance_id="b"), subscription=wanted)
        await until(lambda: settled(on, leader, back), 60.0, "the new topic is given")
        assert partitions(0, 1, 2, 3, topic="u") <= claims_of(back)
        assert on.group.generation == before + 1


async def test_a_follower_that_comes_back_with_a_topic_less_gives_it_to_the_others() -> None:
    async with scene(u=4) as on:
        leader, follower = await twins(on, "t", "u")
        await ended(follower)
        back = await on.joined(settings(group_instance_id="b"))
        await until(lambda: settled(on, leader, back), 60.0, "the topic is the leader's")
        assert partitions(0, 1, 2, 3, topic="u") <= claims_of(leader)


async def test_a_leader_that_comes_back_with_a_topic_more_is_given_it() -> None:
    async with scene(u=4) as on:
        leader = await on.joined(settings(group_instance_id="a"))
        follower = await on.joined(settings(group_instance_id="b"))
        await ended(leader)
        back = await on.joined(settings(group_instance_id="a"), subscription=both("t", "u"))
        await until(lambda: settled(on, back, follower), 60.0, "the new topic is given")
        assert partitions(0, 1, 2, 3, topic="u") <= claims_of(back)


async def test_a_new_topic_is_claimed_although_metadata_comes_after_the_old_assignment() -> None:
    async with scene(u=4) as on:
        leader = await on.joined(settings(group_instance_id="a"))
        follower = await on.joined(settings(group_instance_id="b"))
        await ended(follower)
        on.broker.delete_topic("u")
        back = await on.joined(settings(group_instance_id="b"), subscription=both("t", "u"))
        await anyio.sleep(HEARTBEAT)
        assert back.backend.membership.state is MemberState.STABLE
        on.broker.create_topic("u", 4)
        await until(lambda: settled(on, leader, back), METADATA_AGE, "the new topic is given")


# -- a leader that comes back -------------------------------------------------------------------


async def test_partitions_added_while_the_leader_was_away_are_given_in_one_round() -> None:
    async with scene() as on:
        leader, follower = await twins(on)
        before = on.group.generation
        await ended(leader)
        on.broker.add_partitions("t", 6)
        back = await on.joined(settings(group_instance_id="a"))
        await until(lambda: settled(on, back, follower), 60.0, "the new partitions are owned")
        await anyio.sleep(2 * SESSION)
        assert on.group.generation == before + 1
        assert len(claims_of(back) | claims_of(follower)) == 6


async def test_partitions_of_a_topic_that_only_others_read_are_noticed_too() -> None:
    async with scene(u=1) as on:
        on.peers.add("other", "u")
        leader = await on.joined(settings(group_instance_id="a"))
        await ended(leader)
        on.broker.add_partitions("u", 2)
        await on.joined(settings(group_instance_id="a"))
        given = lambda: on.peers.given("other") == partitions(0, 1, topic="u")  # noqa: E731
        await until(given, 60.0, "the new partition is given")


async def test_a_leader_that_comes_back_to_the_same_partitions_begins_no_round_and_watches() -> (
    None
):
    async with scene() as on:
        leader, follower = await twins(on)
        before = on.group.generation
        await ended(leader)
        back = await on.joined(settings(group_instance_id="a"))
        await anyio.sleep(2 * SESSION)
        assert on.group.generation == before
        assert back.backend.membership.leader
        on.broker.add_partitions("t", 6)
        await until(lambda: settled(on, back, follower), METADATA_AGE, "the new ones are owned")


async def test_a_leader_that_cannot_look_back_still_watches_from_now_on() -> None:
    async with scene() as on:
        leader, follower = await twins(on)
        await ended(leader)
        on.answers.lose(DescribeGroupsRequest, times=None)
        back = await on.joined(settings(group_instance_id="a"))
        await anyio.sleep(2 * SESSION)
        on.broker.add_partitions("t", 6)
        await until(lambda: settled(on, back, follower), METADATA_AGE, "the new ones are owned")


@pytest.mark.parametrize("answered", [True, False], ids=["it can look back", "it cannot"])
async def test_a_leader_that_was_not_subscribed_while_a_topic_grew_has_it_given_out(
    answered: bool,
) -> None:
    """1. A static leader unsubscribes; no LeaveGroup is sent; 2. the topic grows, and it hears of
    that; 3. it subscribes again, and leads on, unasked; 4. the coordinator says what was assigned,
    or does not answer: the same process knows what it assigned from."""
    async with scene() as on:
        leader, follower = await twins(on)
        before = on.group.generation
        leader.backend.subscribe(None)
        await leader.reaches(MemberState.UNSUBSCRIBED)
        on.broker.add_partitions("t", 6)
        await leader.cluster.refresh(5.0)
        if not answered:
            on.answers.lose(DescribeGroupsRequest, times=None)
        leader.backend.subscribe(both("t"))
        await until(lambda: settled(on, leader, follower), 60.0, "the new partitions are owned")
        await anyio.sleep(2 * SESSION)
        assert on.group.generation == before + 1


async def test_a_leader_that_is_replaced_while_the_others_wait_leads_the_round() -> None:
    async with scene() as on:
        leader, follower = await twins(on)
        # The leader hears of no round any more, and the follower waits for it.
        name = leader.member_id
        on.answers.error(
            HeartbeatRequest, 0, where=lambda asked: asked.member_id == name, times=None
        )
        on.group.rebalance()
        await follower.reaches(MemberState.JOINING)
        leader.scope.cancel()
        await leader.ends()
        back = await on.joined(settings(group_instance_id="a"))
        await until(lambda: settled(on, back, follower), 60.0, "the round is over")
        assert back.backend.membership.leader
        assert follower.application.of_kind(ChangeKind.LOST) == []


async def test_a_restart_during_a_round_makes_the_old_process_stop() -> None:
    """`broker_facts.md` S3: its parked JoinGroup is answered FENCED_INSTANCE_ID."""
    async with scene() as on:
        older, other = await twins(on)
        on.peers.expect_somebody()
        on.group.rebalance()
        await older.reaches(MemberState.JOINING)
        younger = await on.member(settings(group_instance_id="a"))
        await older.ends()
        assert getattr(older.error, "code", None) == ErrorCode.FENCED_INSTANCE_ID
        on.peers.give_up()
        await until(lambda: settled(on, younger, other), 60.0, "the round is over")
