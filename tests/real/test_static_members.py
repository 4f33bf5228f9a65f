"""Static members on a real broker (KIP-345): an unnoticed restart, and a twin that fences.

Among them symptom 26 of other clients: each docstring names the report and what is required.
"""

import time
from functools import partial
from pathlib import Path

import anyio
import pytest

from kgroup import Leave
from kgroup.audit import ProblemKind
from kgroup.codes import ApiKey
from kgroup.errors import FencedError
from kgroup.journal import MemorySink, RequestSent
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.ready import Probe, parse_bootstrap, until
from kgroup.types import MemberState, OffsetAndMetadata
from kgroup.wire.messages import MetadataRequest, MetadataRequestTopic
from tests.real.ground import describe, eventually, fresh, lay_ground
from tests.real.members import BOTH, group_on

pytestmark = pytest.mark.real

PATIENCE = 20.0


def until_known(kafka: RealKafka, topic: str, partitions: int) -> None:
    """Wait until every broker knows of so many partitions of a topic."""
    asked = MetadataRequest(
        topics=(MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False
    )

    def missing(address: tuple[str, int]) -> str | None:
        with Probe(address) as probe:
            known = len(probe.ask(asked).topics[0].partitions)
        return None if known == partitions else f"{address} knows {known} partitions of {topic}"

    deadline = time.monotonic() + PATIENCE
    for address in parse_bootstrap(kafka.bootstrap):
        until(partial(missing, address), deadline)


@pytest.mark.parametrize("restarted", ["leader", "follower"])
async def test_a_restart_within_the_session_is_not_noticed(
    kafka: RealKafka, tmp_path: Path, restarted: str
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(10)
    async with group_on(ground, tmp_path) as group:
        leader = await group.join("leader", group_instance_id="one")
        await group.settled(6)
        follower = await group.join("follower", group_instance_id="two")
        await group.settled(3, 3)
        await group.all_read()
        ending, staying = (leader, follower) if restarted == "leader" else (follower, leader)
        instance = "one" if ending is leader else "two"
        held, generation, changes = ending.owned, staying.generation_id, len(staying.changes)
        await group.leave(ending)
        await ground.fill(10)
        back = await group.join("again", group_instance_id=instance)
        await group.settled(3, 3)
        await group.all_read(ending)
        assert back.owned == held
        assert staying.generation_id == back.generation_id == generation
        assert len(staying.changes) == changes
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


async def test_the_older_of_two_twins_is_fenced_and_reads_nothing_more(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            older = await group.join("older", group_instance_id="one")
            other = await group.join("other", group_instance_id="two")
            await group.settled(2, 2)
            changes = len(other.changes)
            younger = await group.join("younger", group_instance_id="one")
            ended = older.finished.is_set
            took = await eventually(ended, "the older one ends", timeout=5)
            assert isinstance(older.failure, FencedError), older.failure
            assert took < 2.0, f"heard of it after {took:.2f} s, heartbeats come every 0.3 s"
            last = len(older.reads)
            await group.leave(older)
            await group.settled(2, 2)
            before = len(younger.reads)
            await eventually(lambda: len(younger.reads) > before + 20, "the younger one reads on")
            assert len(older.reads) == last
            assert len(other.changes) == changes
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(older)
        await group.end()
    # Until its next heartbeat the older twin cannot know, so both owned the same for that long:
    # the audit says so, and finds nothing else.
    verdict = await group.judged()
    others = [each for each in verdict.problems if each.kind is not ProblemKind.TWO_OWNERS]
    assert others == []
    assert verdict.total.lost == 0


@BOTH
async def test_26_a_restart_gives_the_same_partitions_and_an_impostor_fences_the_older(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go#931, #837: a static member was fenced, or had the wrong id, after a restart.

    Required: a restart with the same instance id gives the same partitions without a rebalance;
    an impostor makes the older one raise FencedError at its next read.
    """
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, session_timeout=10.0) as group:
        one = await group.join("one-0", group_instance_id="one")
        other = await group.join("other", group_instance_id="other")
        await group.settled(2, 2)
        await group.steady()
        held, generation, changes = one.owned, other.generation_id, len(other.changes)
        for number in range(1, 4):
            await group.leave(one)
            one = await group.join(f"one-{number}", group_instance_id="one")
            await group.settled(2, 2)
            assert one.owned == held
        impostor = await group.join("impostor", group_instance_id="one")
        await eventually(one.finished.is_set, "the older one raises", timeout=3)
        assert isinstance(one.failure, FencedError)
        assert "group_instance_id 'one'" in str(one.failure)
        with pytest.raises(FencedError):
            await one.consumer.getone(timeout=1.0)
        await group.leave(one)
        await group.settled(2, 2)
        assert impostor.owned == held
        assert other.generation_id == impostor.generation_id == generation
        assert len(other.changes) == changes


@BOTH
async def test_26_a_restart_with_another_topic_is_given_its_partitions(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go#931, and brokers that answer a static member with its old assignment whatever it
    subscribes to now. Required: the new subscription takes effect, by one more round."""
    ground, more = await lay_ground(kafka, 4), await lay_ground(kafka, 2)
    for restarted in ("leader", "follower"):
        async with group_on(ground, tmp_path, session_timeout=10.0) as group:
            first = await group.join(f"{restarted}-a", group_instance_id="a")
            await group.settled(4)
            second = await group.join(f"{restarted}-b", group_instance_id="b")
            await group.settled(2, 2)
            await group.steady()
            goes = first if restarted == "leader" else second
            instance = "a" if goes is first else "b"
            await group.leave(goes)
            back = await group.join(f"{restarted}-again", group_instance_id=instance)
            back.consumer.subscribe(ground.topic, more.topic)
            await eventually(lambda: more.all_partitions <= back.owned, "the topic is given")  # noqa: B023
            await group.end()


@BOTH
async def test_26_restarts_with_a_topic_that_went_to_others_begin_no_round(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """franz-go#931. Required: a round is forced by topics that changed, not by a topic of which
    this member happens to own nothing."""
    ground, small = await lay_ground(kafka, 2), await lay_ground(kafka, 1)
    topics, partitions = (ground.topic, small.topic), ground.all_partitions | small.all_partitions
    async with group_on(ground, tmp_path, session_timeout=10.0) as group:
        one = await group.join("a", group_instance_id="a", topics=topics)
        await eventually(lambda: one.owned == partitions, "the first owns everything")
        two = await group.join("b", group_instance_id="b", topics=topics)
        shared = lambda: two.owned and one.owned ^ two.owned == partitions  # noqa: E731
        await eventually(shared, "the two share everything")
        await anyio.sleep(1.0)
        bare, other = (two, one) if two.owned.isdisjoint(small.all_partitions) else (one, two)
        instance, held = bare.label, bare.owned
        generation, changes = other.generation_id, len(other.changes)
        for number in range(3):
            await group.leave(bare)
            bare = await group.join(
                f"{instance}-{number}", group_instance_id=instance, topics=topics
            )
            await eventually(lambda: bare.owned == held, "it has its partitions back")  # noqa: B023
            await anyio.sleep(1.0)
            assert bare.generation_id == other.generation_id == generation
        assert len(other.changes) == changes


@BOTH
@pytest.mark.parametrize("change", ["less", "another", "not yet there"])
async def test_26_a_restart_with_other_topics_takes_effect_by_one_round(
    kafka: RealKafka, tmp_path: Path, change: str
) -> None:
    """franz-go#931. Required: the leader hears of every change, also of one that moves nothing."""
    ground, small = await lay_ground(kafka, 2), await lay_ground(kafka, 1)
    later = fresh("orders")
    topics = {
        "less": (ground.topic,),
        "another": (ground.topic, (await lay_ground(kafka, 1)).topic),
        "not yet there": (ground.topic, small.topic, later),
    }[change]
    async with group_on(ground, tmp_path, session_timeout=10.0, metadata_max_age=1.0) as group:
        before = (ground.topic, small.topic)
        other = await group.join("a", group_instance_id="a", topics=before)
        await eventually(lambda: len(other.owned) == 3, "the first owns everything")
        back = await group.join("b", group_instance_id="b", topics=before)
        await eventually(lambda: len(other.owned) + len(back.owned) == 3, "they share")
        await eventually(lambda: back.owned and back.knows_its_round, "the second owns something")
        await anyio.sleep(1.0)
        generation = other.generation_id
        assert generation is not None
        await group.leave(back)
        back = await group.join("b-again", group_instance_id="b", topics=topics)
        await eventually(lambda: other.generation_id == generation + 1, "the leader hears of it")
        await anyio.sleep(1.0)
        assert other.generation_id == back.generation_id == generation + 1
        assert {tp.topic for tp in back.owned} <= set(topics)
        if change == "not yet there":
            await lay_ground(kafka, 1, topic=later)
            took = await eventually(
                lambda: later in {tp.topic for tp in back.owned}, "the topic is given"
            )
            assert took < 10.0
        elif change == "another":
            assert set(topics) == {tp.topic for tp in back.owned}


@BOTH
async def test_26_partitions_added_while_the_leader_was_away_are_given(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-814: a static leader that comes back is not asked to assign. Required: partitions that
    were added meanwhile are noticed by it, and given in one round."""
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path, session_timeout=15.0) as group:
        leader = await group.join("leader", group_instance_id="a")
        await group.settled(2)
        await group.join("follower", group_instance_id="b")
        await group.settled(1, 1)
        await group.steady()
        await group.leave(leader)
        await ground.widen(4)
        # Brokers hear of new partitions one after the other: begin when all know.
        await anyio.to_thread.run_sync(until_known, kafka, ground.topic, 4)
        back = await group.join("leader-again", group_instance_id="a")
        took = await eventually(
            lambda: sum(len(m.owned) for m in group.members) == 4, "the new ones are owned"
        )
        await group.settled(2, 2)
        assert back.consumer.membership.leader
        assert took < 10.0, "the follower's metadata is 300 s old by then"


@BOTH
async def test_26_partitions_added_while_the_leader_was_not_subscribed_are_given(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-345, KIP-814: a static leader that unsubscribes and subscribes again is back in the
    generation it led, and not asked to assign. Required: partitions that were added meanwhile are
    noticed by it, although it knew of them when it came back, and given in one round."""
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path, session_timeout=15.0, metadata_max_age=1.0) as group:
        leader = await group.join("leader", group_instance_id="a")
        await group.settled(2)
        follower = await group.join("follower", group_instance_id="b")
        await group.settled(1, 1)
        await group.steady()
        generation = follower.generation_id
        assert generation is not None
        leader.consumer.unsubscribe()
        gone = lambda: leader.is_in(MemberState.UNSUBSCRIBED)  # noqa: E731
        await eventually(gone, "it has gone")
        await ground.widen(4)
        await anyio.to_thread.run_sync(until_known, kafka, ground.topic, 4)
        await anyio.sleep(3.0)
        assert follower.generation_id == generation
        leader.consumer.subscribe(ground.topic)
        took = await eventually(
            lambda: sum(len(m.owned) for m in group.members) == 4, "the new ones are owned"
        )
        await group.settled(2, 2)
        assert leader.consumer.membership.leader
        assert follower.generation_id == generation + 1
        assert took < 10.0


@BOTH
@pytest.mark.parametrize(
    ("mode", "stays"), [(Leave.LEAVE, False), (Leave.DEFAULT, True), (Leave.REMAIN, True)]
)
async def test_26_a_static_member_leaves_by_its_instance_only_when_asked_to(
    kafka: RealKafka, tmp_path: Path, mode: Leave, stays: bool
) -> None:
    """franz-go#837. Required: close(leave=LEAVE) removes the instance, DEFAULT keeps its place."""
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1", group_instance_id="a")
        await group.settled(2)
        await member.consumer.close(leave=mode)
        known = await anyio.to_thread.run_sync(describe, kafka, group.name)
        assert [row.group_instance_id for row in known.members] == (["a"] if stays else [])


async def test_26_a_dynamic_member_that_remains_keeps_its_place_until_its_session_ends(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-1092: what a consumer says when it closes is its application's choice."""
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1")
        await group.settled(2)
        await member.consumer.close(leave=Leave.REMAIN)
        known = await anyio.to_thread.run_sync(describe, kafka, group.name)
        assert len(known.members) == 1


async def test_26_every_request_carries_the_instance_id(kafka: RealKafka, tmp_path: Path) -> None:
    """franz-go#931. Required: no request can be taken for another member's."""
    ground = await lay_ground(kafka, 2)
    sink = MemorySink()
    async with group_on(ground, tmp_path) as group:
        member = await group.join("m1", group_instance_id="a", journal=sink)
        await group.settled(2)
        member.consumer.enforce_rebalance("the test wants a round")
        await eventually(lambda: member.consumer.rebalances > 1, "a second round")
        await member.consumer.commit({tp: OffsetAndMetadata(0) for tp in member.owned})
        await anyio.sleep(1.0)
    named: dict[int, set[str | None]] = {}
    for event in sink.events:
        if isinstance(event, RequestSent):
            named.setdefault(event.api, set()).add(event.group_instance_id)
    asked = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT)
    assert {api: named[api] for api in asked} == {api: {"a"} for api in asked}
