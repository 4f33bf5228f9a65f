"""A leader whose metadata does not come, or comes late."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.types import ChangeKind, Leave
from kgroup.wire.messages import MetadataRequest, SyncGroupRequest
from tests.consumer.foreign import Foreign, led_by
from tests.consumer.scene import HEARTBEAT, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test


async def test_metadata_that_does_not_come_holds_a_round_up_but_ends_no_membership() -> None:
    async with scene(count=2) as on:
        member = await on.joined()
        unanswered = on.answers.lose(MetadataRequest, times=None)
        on.peers.add("other", "elsewhere")
        rounds = member.backend.membership.rebalances
        await until(lambda: member.backend.membership.rebalances > rounds, 60.0, "the round ends")
        assert member.backend.membership.partitions == partitions(0, 1)
        assert on.peers.given("other") == frozenset()
        assert member.application.of_kind(ChangeKind.LOST) == []
        on.broker.create_topic("elsewhere", 1)
        unanswered.cancel()
        await until(lambda: on.peers.given("other"), 400.0, "the topic is given when it is seen")


async def test_a_slow_answer_about_topics_is_waited_for() -> None:
    async with scene(count=1, u=2) as on:
        await on.joined()
        on.answers.delay(MetadataRequest, HEARTBEAT)
        on.peers.add("other", "u")
        await until(lambda: on.peers.given("other"), 60.0, "the other is given something")
        assert on.peers.given("other") == partitions(0, 1, topic="u")
        await anyio.sleep(HEARTBEAT)
        assert len(on.seen(SyncGroupRequest)) == 2


@pytest.mark.parametrize("outage", [None, ErrorCode.LEADER_NOT_AVAILABLE])
async def test_a_leader_without_metadata_takes_no_partition_from_its_owner(
    outage: ErrorCode | None,
) -> None:
    """A phantom owns partitions of a topic that only it reads; then somebody else leads."""
    async with scene(count=2, u=2) as on:
        on.peers.add("other", "u")
        first = await on.joined()
        owned = partitions(0, 1, topic="u")
        await until(lambda: on.peers.given("other") == owned, 60.0, "the other owns it")
        second = await on.joined()
        blind = (
            on.answers.lose(MetadataRequest, times=None) if outage is None else on.hide("u", outage)
        )
        on.lead(second)
        await first.backend.leave(Leave.LEAVE, "another one leads", timeout=5.0)
        await anyio.sleep(100.0)
        assert on.peers.given("other") == owned
        assert second.error is None
        assert second.application.of_kind(ChangeKind.LOST) == []
        blind.cancel()
        await second.owns(partitions(0, 1), within=60.0)
        assert on.peers.given("other") == owned


async def test_the_assignor_sees_the_racks_of_leaders_and_replicas() -> None:
    assignor = Foreign()
    async with scene(2, count=3) as on:
        cluster = on.broker.core.cluster
        for node, rack in zip(cluster.nodes.values(), ("east", "west"), strict=True):
            node.rack = rack
        for partition, nodes in zip(
            cluster.topics["t"].partitions, ((1, 2), (2,), (1,)), strict=True
        ):
            partition.leader, partition.replicas, partition.isr = nodes[0], nodes, nodes
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
