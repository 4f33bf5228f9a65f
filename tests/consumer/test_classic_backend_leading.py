"""The leader's errand: metadata that does not come, or comes late."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.scripted import Delayed, Lost
from kgroup.types import ChangeKind, Leave
from kgroup.wire.messages import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
    SyncGroupRequest,
)
from tests.consumer.foreign import Foreign, led_by
from tests.consumer.stage import HEARTBEAT, Scene, partitions, scene
from tests.contracts.application import until


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


async def test_the_assignor_is_told_the_racks_of_leaders_and_replicas() -> None:
    assignor = Foreign()
    async with scene(2, count=3) as on:
        for broker, rack in zip(on.cluster.brokers, ("east", "west"), strict=True):
            broker.rack = rack
        on.cluster.topics["t"].partitions[0].replicas = (1, 2)
        await on.joined(led_by(assignor))
        (group,) = assignor.seen
        assert [group.rack_of(tp) for tp in group.partitions] == ["east", "west", "east"]
        both, west, east = {"east", "west"}, {"west"}, {"east"}
        assert [group.racks_of(tp) for tp in group.partitions] == [both, west, east]


async def test_brokers_without_racks_cost_no_memory_for_each_partition() -> None:
    assignor = Foreign()
    async with scene(2, count=100) as on:
        await on.joined(led_by(assignor))
        (group,) = assignor.seen
        assert len({id(racks) for racks in group.topics["t"].values()}) == 1
        assert group.rack_of(group.partitions[7]) is None
