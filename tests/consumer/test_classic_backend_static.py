"""Static members (KIP-345, KIP-814) of a group: coming back, leading, being replaced.

In Stable a coordinator answers a member that comes back with the old generation and the old
assignment, whatever it subscribes to now, and begins no round (`broker_facts.md` S). So a changed
subscription takes a round that the member asks for; an unchanged one must not cost any.
"""

from collections.abc import Callable

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.server.faults import Rule
from kgroup.types import ChangeKind, Leave, MemberState, Subscription
from kgroup.wire.messages import (
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import replace
from tests.consumer.scene import (
    SESSION,
    Member,
    Scene,
    claims_of,
    next_round,
    partitions,
    scene,
    settings,
)
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test


def both(*topics: str) -> Subscription:
    return Subscription(topics=frozenset(topics))


async def twins(on: Scene, *topics: str) -> tuple[Member, Member]:
    """A static leader `a` and a static follower `b`, both settled."""
    wanted = both(*(topics or ("t",)))
    leader = await on.joined(settings(group_instance_id="a"), subscription=wanted)
    follower = await on.joined(settings(group_instance_id="b"), subscription=wanted)
    await until(lambda: settled(on, leader, follower), 60.0, "both own their share")
    return leader, follower


def settled(on: Scene, *members: Member) -> bool:
    """Tell whether all partitions of all topics are owned, each once, by these members."""
    owned = [tp for member in members for tp in member.application.settled()]
    return (
        len(owned)
        == len(set(owned))
        == sum(
            len(topic.partitions)
            for topic in on.broker.core.cluster.topics.values()
            if not topic.internal
        )
    )


async def ended(member: Member, mode: Leave = Leave.DEFAULT) -> None:
    await member.backend.leave(mode, "restarting", timeout=5.0)
    await member.ends()


# -- coming back -------------------------------------------------------------------------------


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


# -- a leader that comes back ------------------------------------------------------------------


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


# -- what the group knows of the former process ------------------------------------------------


async def without_u(on: Scene) -> tuple[Member, Member]:
    """Two static members that read `t` and `u`; the first one owns nothing of `u`."""
    one, two = await twins(on, "t", "u")
    await anyio.sleep(2 * SESSION)
    owns_u = bool(claims_of(one) & partitions(0, topic="u"))
    return (two, one) if owns_u else (one, two)


async def come_back(on: Scene, member: Member, *topics: str) -> Member:
    """Restart a member, perhaps with other topics, and let it settle."""
    generation = member.backend.membership.generation
    assert generation is not None
    again = settings(group_instance_id=generation.group_instance_id)
    await ended(member)
    back = await on.joined(again, subscription=both(*topics))
    await anyio.sleep(2 * SESSION)
    return back


@pytest.mark.parametrize("topics", [("t",), ("t", "v"), ("t", "u", "v")])
async def test_a_restart_with_other_topics_begins_one_round_with_them(
    topics: tuple[str, ...],
) -> None:
    async with scene(count=2, u=1) as on:
        bare, other = await without_u(on)
        on.broker.create_topic("v", 2)
        before = on.group.generation
        back = await come_back(on, bare, *topics)
        assert on.group.generation == before + 1
        # The leader knows all subscriptions, so the partitions of the other go to a subscriber.
        await ended(other, Leave.LEAVE)
        await anyio.sleep(2 * SESSION)
        assert {tp.topic for tp in claims_of(back)} == set(topics)


async def test_a_process_that_dies_before_its_round_leaves_no_topic_unread() -> None:
    async with scene(count=2, u=1) as on:
        bare, other = await without_u(on)
        on.broker.create_topic("v", 2)
        generation = bare.backend.membership.generation
        assert generation is not None
        again = settings(group_instance_id=generation.group_instance_id)
        await ended(bare)
        before, sync = on.group.generation, on.answers.hold(SyncGroupRequest)
        dies = await on.member(again, subscription=both("t", "u", "v"))
        await until(lambda: sync.asked is not None, 5.0, "it is in the group again")
        dies.scope.cancel()
        await dies.ends()
        assert on.group.generation == before
        back = await on.joined(again, subscription=both("t", "u", "v"))
        await until(lambda: settled(on, back, other), 60.0, "the new topic is given")


def saying(on: Scene, **said: object) -> Rule:
    """Have the group described with something about it changed."""

    def changed(_: DescribeGroupsRequest, answer: DescribeGroupsResponse) -> DescribeGroupsResponse:
        return replace(answer, groups=tuple(replace(each, **said) for each in answer.groups))

    return on.answers.rewrite(DescribeGroupsRequest, changed, times=None)


UNREADABLE = tuple(
    DescribedGroupMember(
        member_id=instance_id,
        group_instance_id=instance_id,
        client_id="",
        client_host="",
        member_metadata=b"?",
        member_assignment=b"",
    )
    for instance_id in ("a", "b")
)

UNKNOWN: dict[str, Callable[[Scene], Rule]] = {
    "no answer": lambda on: on.answers.lose(DescribeGroupsRequest, times=None),
    "no connection": lambda on: on.answers.hang_up(DescribeGroupsRequest, times=None),
    "not permitted": lambda on: saying(on, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
    "a round is on": lambda on: saying(on, group_state="CompletingRebalance"),
    "no consumers": lambda on: saying(on, protocol_type="connect"),
    "no sense": lambda on: saying(on, members=UNREADABLE),
}


@pytest.mark.parametrize("reason", UNKNOWN)
async def test_without_an_answer_about_the_former_process_one_round_begins(reason: str) -> None:
    async with scene(count=2, u=1) as on:
        bare, other = await without_u(on)
        before = on.group.generation
        UNKNOWN[reason](on)
        back = await come_back(on, bare, "t", "u")
        assert on.group.generation == before + 1
        assert settled(on, back, other)


async def test_a_coordinator_that_does_not_say_holds_the_first_join_up_for_two_seconds() -> None:
    async with scene() as on:
        on.answers.lose(DescribeGroupsRequest, times=None)
        await on.joined(settings(group_instance_id="a"))
        (asked,) = on.seen(DescribeGroupsRequest)
        assert on.seen(JoinGroupRequest)[0].at - asked.at == pytest.approx(2.0)


async def test_a_process_asks_once_and_a_dynamic_member_never() -> None:
    async with scene() as on:
        await on.joined()
        assert on.seen(DescribeGroupsRequest) == []
        member = await on.joined(settings(group_instance_id="a"))
        await next_round(member)
        on.hang_up()
        await next_round(member)
        assert len(on.seen(DescribeGroupsRequest)) == 1
