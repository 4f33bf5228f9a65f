"""The leader's errand: an assignor that fails, one that takes long, metadata that does not come."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio
import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.codes import ErrorCode
from kgroup.errors import AssignmentError
from kgroup.testing.scripted import Answer, Delayed, Lost, Seen
from kgroup.types import ChangeKind, Leave, MemberState, RebalanceProtocol
from kgroup.wire.consumer_protocol import decode_assignment
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
    SyncGroupRequest,
)
from tests.consumer.stage import HEARTBEAT, Scene, claims_of, partitions, scene, settings
from tests.contracts.application import until


@dataclass(frozen=True)
class Foreign:
    """An assignor from outside, eager."""

    body: Callable[[GroupSubscription], GroupAssignment]
    name: str = "foreign"
    supported_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        return self.body(group)


def using(body: Callable[[GroupSubscription], GroupAssignment]) -> Foreign:
    return Foreign(body)


def breaks(group: GroupSubscription) -> GroupAssignment:
    raise ValueError(f"I cannot divide {len(group.partitions)} partitions")


def gives_twice(group: GroupSubscription) -> GroupAssignment:
    everything = tuple(group.partitions)
    return GroupAssignment({member.member_id: everything * 2 for member in group.members})


@pytest.mark.parametrize(
    ("body", "words"), [(breaks, "cannot divide 4 partitions"), (gives_twice, "")]
)
async def test_an_assignor_that_fails_ends_the_membership_loudly(
    body: Callable[[GroupSubscription], GroupAssignment], words: str
) -> None:
    async with scene() as on:
        member = await on.member(replace(settings(), assignors=(using(body),)))
        await member.ends()
        assert isinstance(member.error, AssignmentError)
        assert words in str(member.error)
        assert member.backend.membership.state is MemberState.FAILED
        assert on.seen(SyncGroupRequest) == []
        assert len(on.seen(LeaveGroupRequest)) == 1
        assert on.group.members == {}


async def test_the_next_leader_is_not_held_up_by_one_whose_assignor_fails() -> None:
    async with scene() as on:
        good = await on.joined(settings("range"))
        bad_range = Foreign(breaks, name="range")
        bad = await on.joined(replace(settings(), assignors=(bad_range,)))
        on.group.leader = bad.member_id
        on.group.rebalance()
        await bad.ends()
        assert isinstance(bad.error, AssignmentError)
        await good.owns(partitions(0, 1, 2, 3))


async def test_the_assignor_of_a_large_group_leaves_the_loop_to_the_heartbeats() -> None:
    """The assignor returns once three heartbeats have come in meanwhile; on the loop's own thread
    they never would."""
    beats = threading.Event()
    here = threading.get_ident()
    worked: list[int] = []

    def waits(group: GroupSubscription) -> GroupAssignment:
        worked.append(threading.get_ident())
        assert beats.wait(5.0), "no heartbeat came while the assignor ran"
        return BUILT_IN["range"].assign(group)

    # While a thread works and nothing else is to be done, virtual time runs on: give it room.
    patient = replace(
        settings(session_timeout=1e5, rebalance_timeout=1e6), assignors=(using(waits),)
    )
    async with scene(count=500) as on:
        for number in range(40):
            on.group.add_phantom(f"phantom-{number}", "t", assignor="foreign")
        await on.member(patient)
        await until(lambda: len(on.seen(HeartbeatRequest)) >= 3, 1e5, "three heartbeats")
        assert on.seen(SyncGroupRequest) == []
        beats.set()
        await until(lambda: on.seen(SyncGroupRequest), 1e5, "the assignment is sent")
        assert here not in worked


async def test_metadata_that_does_not_come_holds_a_round_up_but_ends_no_membership() -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        on.group.coordinator.on(MetadataRequest, Lost())
        on.group.add_phantom("other", "elsewhere")
        rounds = member.backend.membership.rebalances
        await until(lambda: member.backend.membership.rebalances > rounds, 60.0, "the round ends")
        assert member.backend.membership.partitions == partitions(0, 1)
        assert on.group.given("other") == frozenset()
        assert member.application.of_kind(ChangeKind.LOST) == []
        on.cluster.add_topic("elsewhere", 1)
        on.group.coordinator.on(MetadataRequest, on.cluster.metadata)
        await until(lambda: on.group.given("other"), 400.0, "the topic is given when it is seen")


async def test_a_slow_answer_about_topics_is_waited_for() -> None:
    async with scene(count=1, u=2) as on:
        await on.joined()
        broker = on.group.coordinator
        broker.once(
            MetadataRequest, lambda request: Delayed(on.cluster.metadata(request), HEARTBEAT)
        )
        on.group.add_phantom("other", "u")
        await until(lambda: on.group.given("other"), 60.0, "the other is given something")
        assert on.group.given("other") == partitions(0, 1, topic="u")
        await anyio.sleep(HEARTBEAT)
        assert len(on.seen(SyncGroupRequest)) == 2


@pytest.mark.parametrize("outage", [Lost(), ErrorCode.LEADER_NOT_AVAILABLE])
async def test_a_leader_without_metadata_takes_nothing_from_those_who_own_it(
    outage: Lost | ErrorCode,
) -> None:
    """A phantom owns partitions of a topic that only it reads; then somebody else leads."""
    async with scene(count=2, u=2) as on:
        on.group.add_phantom("other", "u")
        first = await on.joined()
        owned = partitions(0, 1, topic="u")
        await until(lambda: on.group.given("other") == owned, 60.0, "the other owns it")
        second = await on.joined()
        blind(on, outage)
        on.group.leader = second.member_id
        await first.backend.leave(Leave.LEAVE, "another one leads", timeout=5.0)
        await anyio.sleep(100.0)
        assert on.group.given("other") == owned
        assert second.error is None
        assert second.application.of_kind(ChangeKind.LOST) == []
        on.group.coordinator.on(MetadataRequest, on.cluster.metadata)
        on.cluster.topics["u"].error = 0
        await second.owns(partitions(0, 1), within=60.0)
        assert on.group.given("other") == owned


def blind(on: Scene, outage: Lost | ErrorCode) -> None:
    """Have the leader-to-be learn nothing about the other's topic."""
    if isinstance(outage, Lost):
        on.group.coordinator.on(MetadataRequest, outage)
        return
    known = on.cluster.metadata

    def vague(request: MetadataRequest) -> MetadataResponse:
        answer = known(request)
        hidden = MetadataResponseTopic(name="u", error_code=outage, partitions=())
        return MetadataResponse(
            brokers=answer.brokers,
            cluster_id=answer.cluster_id,
            topics=tuple(hidden if row.name == "u" else row for row in answer.topics),
        )

    on.group.coordinator.on(MetadataRequest, vague)


def with_garbage(on: Scene, request: JoinGroupRequest) -> Answer:
    """Answer like the group, with one more member for the leader, whose bytes nobody can read."""
    answer = on.group.answer(request)
    if not isinstance(answer, JoinGroupResponse) or not answer.members:
        return answer
    bad = JoinGroupResponseMember(member_id="bad", group_instance_id="till", metadata=b"\xff")
    return JoinGroupResponse(
        generation_id=answer.generation_id,
        protocol_type=answer.protocol_type,
        protocol_name=answer.protocol_name,
        leader=answer.leader,
        member_id=answer.member_id,
        members=(*answer.members, bad),
    )


def assigned(seen: Seen) -> dict[str, int]:
    assert isinstance(seen.request, SyncGroupRequest)
    return {
        row.member_id: len(decode_assignment(row.assignment).partitions)
        for row in seen.request.assignments
    }


async def test_an_eager_member_with_unreadable_bytes_is_given_nothing_and_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as on:
        on.group.coordinator.on(JoinGroupRequest, lambda request: with_garbage(on, request))
        member = await on.joined(settings("range"))
        assert claims_of(member) == partitions(0, 1, 2, 3)
        assert assigned(on.seen(SyncGroupRequest)[-1]) == {member.member_id: 4, "bad": 0}
        (told,) = [each for each in caplog.messages if "'bad'" in each]
        assert "group=g" in told
        assert "'till'" in told


async def test_a_cooperative_member_with_unreadable_bytes_fails_the_round_by_name() -> None:
    """What it holds is unknown, so nothing may be given to others."""
    async with scene() as on:
        on.group.coordinator.on(JoinGroupRequest, lambda request: with_garbage(on, request))
        member = await on.member()
        await member.ends()
        assert isinstance(member.error, AssignmentError)
        assert "'bad'" in str(member.error)
        assert on.seen(SyncGroupRequest) == []
