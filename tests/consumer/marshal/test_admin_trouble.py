"""Setting positions while brokers fail: the outcome is found out, or reported as unknown."""

import anyio
import pytest

from kgroup.admin.groups import committed_offsets
from kgroup.admin.marshal.claim_log import claim_log
from kgroup.admin.marshal.pauses import release_keys
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.marshal.admin import Stage
from kgroup.net.cluster import Cluster
from kgroup.testing import InProcessBroker
from kgroup.types import TopicPartition
from kgroup.wire.messages import OffsetCommitRequest, OffsetFetchRequest, ProduceRequest
from tests.consumer.marshal.stage import LOG, Writer, running
from tests.consumer.marshal.test_admin_positions import T0, T1, laid, logged, moved

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TOPICS = frozenset({"t"})


def begun() -> InProcessBroker:
    """Return a cluster in which both partitions have positions, and no owner."""
    broker = laid()
    for number, tail in ((0, 7), (1, 8)):
        writer = Writer(broker.partition(LOG))
        epoch = writer.claim(number)
        writer.beat(tail, epoch, number)
    return broker


async def is_paused(broker: InProcessBroker) -> bool:
    async with running(broker) as cluster, claim_log(cluster, AdminSettings("g"), TOPICS) as place:
        return place.pause(0) is not None


@pytest.mark.parametrize("which", range(1, 7))
async def test_a_write_whose_answer_was_lost_is_settled_by_reading(which: int) -> None:
    broker = laid()
    async with running(broker, request_timeout=2.0) as cluster:
        seen = 0

        def is_it(_: ProduceRequest) -> bool:
            nonlocal seen
            seen += 1
            return seen == which

        broker.answers.lose(ProduceRequest, where=is_it, times=None)
        found = await moved(cluster, {T0: 42, T1: 43})
        assert {move.stage for move in found.values()} == {Stage.SET}
        assert await logged(cluster) == {T0: 42, T1: 43}
    assert not await is_paused(broker)


async def test_a_coordinator_that_answers_no_commit_leaves_all_as_it_was() -> None:
    broker = begun()
    async with running(broker) as cluster:
        broker.answers.ignore(OffsetCommitRequest, times=None)
        found = await moved(cluster, {T0: 42, T1: 43})
        assert {move.stage for move in found.values()} == {Stage.KEPT}
        assert all("not committed" in move.reason for move in found.values())
        broker.answers.clear()
        assert await logged(cluster) == {T0: 7, T1: 8}
    assert not await is_paused(broker)


async def test_a_commit_that_was_carried_out_counts_though_its_answer_was_lost() -> None:
    broker = begun()
    async with running(broker, request_timeout=2.0) as cluster:
        broker.answers.lose(OffsetCommitRequest, times=None)
        found = await moved(cluster, {T0: 42, T1: 43})
        assert {move.stage for move in found.values()} == {Stage.SET}
        assert await logged(cluster) == {T0: 42, T1: 43}
        assert await committed(cluster) == {T0: 42, T1: 43}


async def test_a_given_up_change_takes_its_commit_back() -> None:
    """
    1. the new positions are committed; 2. they cannot be read back in time;
    3. keys are released where they were, and what is committed goes back, too.
    """
    broker = begun()
    broker.group("g").commit({T0: 5})
    broker.answers.ignore(OffsetFetchRequest, where=lambda _: commits(broker) == 1, times=None)
    async with running(broker, request_timeout=2.0) as cluster:
        found = await moved(cluster, {T0: 42, T1: 43})
        assert {move.stage for move in found.values()} == {Stage.KEPT}
        assert commits(broker) == 2
        assert await logged(cluster) == {T0: 7, T1: 8}
        assert await committed(cluster) == {T0: 5, T1: 8}


async def test_an_unknown_commit_is_reported_with_both_offsets() -> None:
    broker = begun()
    broker.group("g").commit({T0: 5})
    broker.answers.ignore(OffsetFetchRequest, where=lambda _: commits(broker) > 0, times=None)
    broker.answers.ignore(OffsetCommitRequest, where=lambda _: commits(broker) > 1, times=None)
    async with running(broker, request_timeout=2.0) as cluster:
        found = await moved(cluster, {T0: 42})
        assert found[T0].stage is Stage.UNKNOWN
        assert "has offset 7, and what is committed is 42, or not: do it again" in found[T0].reason
        broker.answers.clear()
        assert (await logged(cluster))[T0] == 7
        assert (await committed(cluster))[T0] == 42


def commits(broker: InProcessBroker) -> int:
    return len(broker.requests_of(OffsetCommitRequest))


async def committed(cluster: Cluster) -> dict[TopicPartition, int | None]:
    found = await committed_offsets(cluster, "g", [T0, T1], timeout=10)
    return {tp: each and each.offset for tp, each in found.items()}


async def test_a_coordinator_that_cannot_be_asked_amid_it_leaves_all_as_it_was() -> None:
    broker = begun()
    async with running(broker) as cluster, anyio.create_task_group() as tasks:

        async def fail_later() -> None:
            await anyio.sleep(60)
            broker.answers.ignore(OffsetFetchRequest, times=None)

        tasks.start_soon(fail_later)
        found = await moved(cluster, {T0: 42, T1: 43})
        assert {move.stage for move in found.values()} == {Stage.KEPT}
        assert await logged(cluster) == {T0: 7, T1: 8}
    assert not await is_paused(broker)
    assert broker.requests_of(OffsetCommitRequest) == []


async def test_a_log_that_takes_no_writes_is_reported_with_the_unknown_rest() -> None:
    broker = laid()
    said: list[str] = []
    async with running(broker, request_timeout=2.0) as cluster:
        # Pause, claims, and their answers come through; the rest does not.
        seen = 0

        def is_late(_: ProduceRequest) -> bool:
            nonlocal seen
            seen += 1
            return seen > 2

        broker.answers.ignore(ProduceRequest, where=is_late, times=None)
        found = await moved(cluster, {T0: 42}, said=said)
    assert found[T0].stage is Stage.UNKNOWN
    assert "offset 42 is committed" in found[T0].reason
    assert "do it again" in found[T0].reason
    assert any("whether the pause has ended is not known; it lasts 60 s" in line for line in said)


async def test_the_claims_of_the_dead_are_waited_for_when_keys_are_released() -> None:
    broker = begun()
    said: list[str] = []
    async with running(broker) as cluster, claim_log(cluster, AdminSettings("g"), TOPICS) as place:
        assert await release_keys(place, [0], TOPICS, 150.0, said.append) == []
        assert 110 < anyio.current_time() < 140
        assert place.pause(0) is None
    (line,) = said
    assert line.startswith("waiting for A/i1 to let go of t-0, t-1; if it is dead, another 1")
