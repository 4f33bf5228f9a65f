"""A copy of a cluster goes on by itself: what it does later is done to the copy alone."""

import copy

from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from tests.testing.broker.driver import asking

BY_NAME = 12


def test_a_copied_coordinator_ends_its_own_loading() -> None:
    core = asking().core
    shard = core.coordinators.shard_of("g")
    shard.load(5)

    twin = copy.deepcopy(core)
    twin.context.agenda.run(6)

    assert shard.loading
    assert not twin.coordinators.shard_of("g").loading


def test_a_copied_cluster_ends_its_own_waiting_fetches() -> None:
    raw = asking()
    raw.core.cluster.create_topic("t")
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        topics=(FetchTopic(topic="t", partitions=(wanted,)),),
    )
    call = raw.ask(1, request, version=BY_NAME)

    twin = copy.deepcopy(raw.core)
    twin.context.agenda.run(1)
    assert [reply.ticket for reply in twin.context.outbox.take()] == [call.ticket]
    assert not twin.fetches.waiting

    raw.run(0)
    assert call.parked
    assert [*raw.core.fetches.waiting] == [call.ticket]


def test_a_copied_cluster_notices_deaths_by_itself() -> None:
    core = asking(2, settings=BrokerSettings(election_delay=3.0)).core
    core.cluster.kill(1)

    twin = copy.deepcopy(core)
    twin.context.agenda.run(4)

    assert core.cluster.usable == [1, 2]
    assert twin.cluster.usable == [2]


def test_a_copied_group_expires_its_own_members() -> None:
    raw = asking()
    shard = raw.core.coordinators.shard_of("g")
    group = shard.make("g")
    shard.rounds.hold_place(group, "one", 5)

    twin = copy.deepcopy(raw.core)
    twin.context.agenda.run(6)

    assert [*group.pending] == ["one"]
    assert not twin.coordinators.shard_of("g").groups["g"].pending
