"""Subscriptions of the classic backend: patterns, topics that come and go, partition counts."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import ChangeKind, MemberState, Subscription, TopicPartition
from kgroup.wire.consumer_protocol import decode_subscription
from kgroup.wire.messages import JoinGroupRequest, MetadataRequest
from tests.consumer.scene import Member, Scene, partitions, scene, settings
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

AGE = 20.0
"""Metadata's age in most of these tests; long enough to tell it from a chase (5 s)."""

ROUNDS = 4.0
"""Seconds two rounds may take here: a heartbeat (3 s) until a follower hears of one."""


def subscribed(on: Scene) -> list[tuple[str, ...]]:
    """Return the topics that each JoinGroup subscribed to."""
    joins = [seen.request for seen in on.seen(JoinGroupRequest)]
    return [
        decode_subscription(join.protocols[0].metadata).topics
        for join in joins
        if isinstance(join, JoinGroupRequest)
    ]


def by_pattern(pattern: str, exclude: str | None = None) -> Subscription:
    return Subscription(pattern=pattern, exclude=exclude)


def topic(name: str, count: int = 1) -> frozenset[TopicPartition]:
    return partitions(*range(count), topic=name)


# -- patterns ----------------------------------------------------------------------------------


async def test_a_pattern_joins_with_everything_it_takes_at_once() -> None:
    async with scene(count=1, t1=1, t2=1, u=1) as on:
        member = await on.joined()
        member.backend.subscribe(by_pattern("t"))
        await member.owns(topic("t") | topic("t1") | topic("t2"))
        assert set(subscribed(on)) == {("t",), ("t", "t1", "t2")}


async def test_a_pattern_that_takes_nothing_joins_and_waits() -> None:
    async with scene(metadata_max_age=AGE) as on:
        member = await on.member(subscription=by_pattern("nobody"))
        await member.reaches(MemberState.STABLE, within=5.0)
        assert subscribed(on)[-1] == ()
        on.broker.create_topic("nobody-yet", 2)
        await member.owns(topic("nobody-yet", 2), within=AGE + ROUNDS)


async def test_a_new_topic_costs_its_leader_one_more_join() -> None:
    async with scene(count=1, metadata_max_age=AGE) as on:
        member = await on.joined(subscription=by_pattern("t"))
        before = len(subscribed(on))
        on.broker.create_topic("t1", 1)
        await member.owns(topic("t") | topic("t1"), within=AGE + ROUNDS)
        await anyio.sleep(5.0)
        assert subscribed(on)[before:] == [("t", "t1")]


async def test_a_topic_that_vanishes_leaves_the_pattern_without_an_error() -> None:
    async with scene(count=1, t1=1, metadata_max_age=AGE) as on:
        member = await on.joined(subscription=by_pattern("t"))
        on.broker.delete_topic("t1")
        await member.owns(topic("t"), within=AGE + ROUNDS)
        assert subscribed(on)[-1] == ("t",)
        assert member.error is None
        assert member.application.of_kind(ChangeKind.LOST) == []


async def test_a_member_refreshes_its_topics_before_it_joins_a_round() -> None:
    async with scene(count=2, metadata_max_age=AGE) as on:
        one = await on.joined(subscription=by_pattern("t"))
        await anyio.sleep(AGE / 2)  # it looks for topics long before the other one will
        two = await on.joined(subscription=by_pattern("t"))
        await anyio.sleep(1.0)
        before = len(subscribed(on))
        on.broker.create_topic("t1", 2)
        everything = topic("t", 2) | topic("t1", 2)
        await until(lambda: owned(one, two) == everything, AGE + 3 * ROUNDS, "both share it")
        await anyio.sleep(AGE * 2)
        assert ("t",) not in subscribed(on)[before:]
        assert owned(one, two) == everything


async def test_a_member_joins_a_round_without_metadata() -> None:
    async with scene(count=1, metadata_max_age=AGE) as on:
        member = await on.joined(subscription=by_pattern("t"))
        on.broker.answers.ignore(MetadataRequest, times=None)
        on.group.rebalance()
        before = len(subscribed(on))
        await until(lambda: len(subscribed(on)) > before, ROUNDS + 2.0, "it joins")
        await member.owns(topic("t"))


def owned(*members: Member) -> frozenset[TopicPartition]:
    return frozenset().union(*(member.application.settled() for member in members))


async def test_another_pattern_is_judged_at_once_and_looked_at_again() -> None:
    async with scene(count=1, u=1) as on:
        member = await on.joined(subscription=by_pattern("t"))
        on.broker.create_topic("u-new", 1)
        member.backend.subscribe(by_pattern("u"))
        await member.owns(topic("u") | topic("u-new"), within=2 * ROUNDS)


async def test_quick_changes_of_mind_end_with_the_last_one() -> None:
    async with scene(count=1, u=1, v=1) as on:
        member = await on.joined()
        for wanted in (by_pattern("u"), Subscription(topics=frozenset({"v"})), None) * 3:
            member.backend.subscribe(wanted)
            await anyio.sleep(0.01)
        member.backend.subscribe(by_pattern("[uv]"))
        await member.owns(topic("u") | topic("v"), within=2 * ROUNDS)
        assert subscribed(on)[-1] == ("u", "v")


# -- topics that come and go -------------------------------------------------------------------


async def test_a_topic_that_is_not_there_yet_is_waited_for_and_picked_up() -> None:
    async with scene() as on:
        member = await on.member(subscription=Subscription(topics=frozenset({"late"})))
        await member.reaches(MemberState.STABLE)
        await anyio.sleep(30.0)
        assert len(subscribed(on)) == 2  # an id, then one round
        on.broker.create_topic("late", 2)
        await member.owns(topic("late", 2), within=6.0 + ROUNDS)


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
async def test_a_deleted_topic_is_given_up_and_picked_up_again_when_it_is_back(
    assignor: str,
) -> None:
    async with scene(count=2, u=2, metadata_max_age=AGE) as on:
        both = Subscription(topics=frozenset({"t", "u"}))
        one = await on.joined(settings(assignor), subscription=both)
        two = await on.joined(settings(assignor), subscription=both)
        everything = topic("t", 2) | topic("u", 2)
        await until(lambda: owned(one, two) == everything, 60.0, "both have joined")
        on.broker.delete_topic("u")
        await until(lambda: owned(one, two) == topic("t", 2), AGE + 3 * ROUNDS, "it is given up")
        await anyio.sleep(ROUNDS)
        calm = len(subscribed(on))
        await anyio.sleep(10 * AGE)
        assert len(subscribed(on)) == calm
        on.broker.create_topic("u", 3)
        everything = topic("t", 2) | topic("u", 3)
        await until(lambda: owned(one, two) == everything, 2 * AGE, "it is picked up again")
        assert (one.error, two.error) == (None, None)


@pytest.mark.parametrize(
    "code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.LEADER_NOT_AVAILABLE]
)
async def test_a_topic_that_cannot_be_seen_for_now_holds_up_no_other(code: int) -> None:
    async with scene(count=1, u=1, metadata_max_age=AGE) as on:
        hidden = on.hide("u", code)
        member = await on.joined(subscription=Subscription(topics=frozenset({"t", "u"})))
        assert member.application.settled() == topic("t")
        hidden.cancel()
        await member.owns(topic("t") | topic("u"), within=AGE + ROUNDS)


# -- partition counts --------------------------------------------------------------------------


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
async def test_new_partitions_are_owned_within_the_age_of_metadata_and_two_rounds(
    assignor: str,
) -> None:
    async with scene(count=2, metadata_max_age=AGE) as on:
        members = [await on.joined(settings(assignor)) for _ in range(2)]
        await until(lambda: owned(*members) == topic("t", 2), 60.0, "both have joined")
        await anyio.sleep(AGE)
        on.broker.add_partitions("t", 5)
        everything = topic("t", 5)
        await until(lambda: owned(*members) == everything, AGE + 2 * ROUNDS, "all are owned")
        assert all(len(member.application.settled()) >= 2 for member in members)
