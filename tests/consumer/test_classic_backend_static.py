"""Static members (KIP-345, KIP-814) of a group: coming back, leading, being replaced.

`broker_facts.md` S: in Stable a coordinator answers one that comes back with the old generation and
its old assignment, whatever it subscribes to now, and begins no round.
"""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import ChangeKind, MemberState
from kgroup.wire.messages import (
    HeartbeatRequest,
)
from tests.consumer.scene import (
    SESSION,
    claims_of,
    partitions,
    scene,
    settings,
)
from tests.consumer.twins import both, ended, settled, twins
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test


# -- coming back --------------------------------------------------------------------------------


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


async def test_a_leader_that_comes_back_with_a_topic_more_is_given_it() -> None:
    async with scene(u=4) as on:
        leader = await on.joined(settings(group_instance_id="a"))
        follower = await on.joined(settings(group_instance_id="b"))
        await ended(leader)
        back = await on.joined(settings(group_instance_id="a"), subscription=both("t", "u"))
        await until(lambda: settled(on, back, follower), 60.0, "the new topic is given")
        assert partitions(0, 1, 2, 3, topic="u") <= claims_of(back)


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
