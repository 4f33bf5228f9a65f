"""Positions of a Marshal group, set from outside: nothing is ever half done."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.admin.groups import committed_offsets
from kgroup.admin.marshal.claim_log import claim_log
from kgroup.admin.marshal.positions import Asked, plan_positions, set_positions
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.codes import ErrorCode
from kgroup.errors import ArgumentError, BrokerError, CoordinationTopicError, GroupError
from kgroup.marshal.admin import KeyMove, Stage
from kgroup.marshal.messages import Kind
from kgroup.net.cluster import Cluster
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from kgroup.wire.messages import OffsetCommitRequest
from tests.consumer.ground import fill
from tests.consumer.marshal.crew import crew, until
from tests.consumer.marshal.stage import LOG, Writer, coordinated, running

pytestmark = pytest.mark.anyio

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def laid(**more: Any) -> InProcessBroker:
    """Return a cluster whose topic `t` has two partitions of 100 records each."""
    broker = coordinated(t=2, **more)
    for tp in (T0, T1):
        fill(broker, tp, 100)
    return broker


async def moved(
    cluster: Cluster,
    targets: Mapping[TopicPartition, int],
    *,
    said: list[str] | None = None,
    **asked: float,
) -> dict[TopicPartition, KeyMove]:
    settings = AdminSettings("g")
    say = (said if said is not None else []).append
    async with claim_log(cluster, settings, frozenset(tp.topic for tp in targets)) as place:
        moves = await set_positions(place, targets, Asked(**asked), say)
    return {move.tp: move for move in moves}


async def logged(cluster: Cluster) -> dict[TopicPartition, int | None]:
    """Return what the log of claims says now."""
    async with claim_log(cluster, AdminSettings("g"), frozenset({"t"})) as place:
        return {tp: place.logged(tp) for tp in (T0, T1)}


def kinds(broker: InProcessBroker) -> list[str]:
    return [
        (record.value or b"").split(b"/")[0].decode() for record in broker.partition(LOG).records()
    ]


async def test_positions_without_an_owner_are_set_in_the_log_and_committed() -> None:
    broker = laid()
    async with running(broker) as cluster:
        found = await moved(cluster, {T0: 42, T1: 0})
        assert {tp: move.stage for tp, move in found.items()} == {T0: Stage.SET, T1: Stage.SET}
        assert await logged(cluster) == {T0: 42, T1: 0}
        committed = await committed_offsets(cluster, "g", [T0, T1], timeout=10)
    assert {tp: each and each.offset for tp, each in committed.items()} == {T0: 42, T1: 0}
    assert kinds(broker)[0] == kinds(broker)[-1] == Kind.RELEASE_GROUP.value.decode()


async def test_doing_it_again_changes_nothing_and_goes_well() -> None:
    async with running(laid()) as cluster:
        for _ in range(2):
            assert (await moved(cluster, {T0: 42}))[T0].stage is Stage.SET
        assert (await logged(cluster))[T0] == 42


@pytest.mark.slow
async def test_live_members_let_go_and_read_on_from_the_new_position() -> None:
    """TestRewindConsumer in the original (removed there in 2017)."""
    said: list[str] = []
    async with crew(100) as there, running(there.broker) as cluster:
        process = there.enter(enable_auto_commit=True, auto_commit_interval=1.0)
        await until(lambda: len(process.seen) == 100)
        await anyio.sleep(5)
        found = await moved(cluster, {T0: 90}, said=said)
        assert found[T0].stage is Stage.SET
        await until(lambda: len(process.seen) == 110, within=60)
        assert process.offsets[100:] == list(range(90, 100))
        assert process.heard == ["gained", "revoked", "gained"]
    assert any("waiting for" in line for line in said)


async def test_a_plan_writes_nothing_and_says_where_keys_are() -> None:
    broker = laid()
    Writer(broker.partition(LOG)).claim()
    Writer(broker.partition(LOG)).beat(7, 0)
    topics = frozenset({"t"})
    async with running(broker) as cluster, claim_log(cluster, AdminSettings("g"), topics) as place:
        moves = await plan_positions(place, {T0: 3, T1: 4})
    assert [(move.former, move.target) for move in moves.values()] == [(7, 3), (None, 4)]
    assert len(broker.partition(LOG).records()) == 2
    assert not broker.requests_of(OffsetCommitRequest)


@pytest.mark.slow
async def test_an_owner_that_never_lets_go_leaves_all_as_it_was_and_is_named() -> None:
    broker = laid()
    writer = Writer(broker.partition(LOG), client="stubborn")
    epoch = writer.claim()
    writer.beat(7, epoch)

    async def beat_on() -> None:
        while True:
            await anyio.sleep(30)
            writer.now = lambda: 1_700_000_000 + anyio.current_time()
            writer.beat(7, epoch)

    async with running(broker) as cluster, anyio.create_task_group() as tasks:
        tasks.start_soon(beat_on)
        found = await moved(cluster, {T0: 42, T1: 43}, patience=200.0)
        tasks.cancel_scope.cancel()
        assert {move.stage for move in found.values()} == {Stage.KEPT}
        assert "stubborn has t-0" in found[T0].reason
        assert (await logged(cluster)) == {T0: 7, T1: None}
    assert not broker.requests_of(OffsetCommitRequest)
    assert kinds(broker)[-1] == "ReleaseGroup", "the pause is lifted"


@pytest.mark.slow
async def test_the_claim_of_a_dead_owner_is_waited_for() -> None:
    broker = laid()
    writer = Writer(broker.partition(LOG))
    writer.beat(7, writer.claim())
    async with running(broker) as cluster:
        began = anyio.current_time()
        found = await moved(cluster, {T0: 42})
        assert found[T0].stage is Stage.SET
        assert found[T0].former == 7
        assert 110 < anyio.current_time() - began < 130
        assert (await logged(cluster))[T0] == 42


@pytest.mark.slow
async def test_a_pause_is_renewed_as_long_as_it_is_needed() -> None:
    broker = laid()
    writer = Writer(broker.partition(LOG))
    writer.beat(7, writer.claim())
    async with running(broker) as cluster:
        found = await moved(cluster, {T0: 42}, pause=10.0)
    assert found[T0].stage is Stage.SET
    assert kinds(broker).count("ReleaseGroup") > 12


@pytest.mark.parametrize("position", [101, -1])
async def test_a_position_that_no_log_has_is_refused_before_anything_is_written(
    position: int,
) -> None:
    broker = laid()
    async with running(broker) as cluster:
        with pytest.raises(BaseExceptionGroup) as caught:
            await moved(cluster, {T0: position, T1: 5})
    assert caught.group_contains(ArgumentError, match="position of t-0.*0 to 100")
    assert broker.partition(LOG).records() == []


async def test_partitions_and_topics_that_are_not_there_are_named() -> None:
    async with running(laid()) as cluster:
        with pytest.raises(BaseExceptionGroup) as caught:
            await moved(cluster, {TopicPartition("t", 2): 0})
        assert caught.group_contains(ArgumentError, match="'t-2'.*2 of 't'")
        with pytest.raises(BaseExceptionGroup) as caught:
            await moved(cluster, {TopicPartition("tt", 0): 0})
        assert caught.group_contains(BrokerError, match="did you mean 't'")


async def test_the_error_for_a_missing_coordination_topic_names_init() -> None:
    broker = InProcessBroker(topics={"t": 1})
    async with running(broker) as cluster:
        with pytest.raises(CoordinationTopicError, match="kgroup marshal init"):
            await moved(cluster, {T0: 0})


async def test_a_native_group_of_the_same_name_is_refused() -> None:
    broker = laid()
    ports = virtual_ports(broker.dial, seed=5)
    native = Consumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g", ports=ports)
    async with running(broker) as cluster, native:
        await native.getmany(timeout=10.0)
        with pytest.raises(BaseExceptionGroup) as caught:
            await moved(cluster, {T0: 42})
    assert caught.group_contains(GroupError, match="coordinated in one way at a time")
    assert broker.partition(LOG).records() == []


# -- members of the original library -----------------------------------------------------------


async def test_a_live_member_of_the_original_library_is_never_paused() -> None:
    broker = laid()
    peer = Writer(broker.partition(LOG), client="go", headerless=True)
    peer.claim()
    peer.beat(7)
    async with running(broker) as cluster:
        with pytest.raises(BaseExceptionGroup) as caught:
            await moved(cluster, {T1: 42})
    assert caught.group_contains(GroupError, match="go/i1 has t-0.*stop all members")
    assert len(broker.partition(LOG).records()) == 2


async def test_where_members_of_the_original_library_stopped_nothing_is_paused() -> None:
    broker = laid()
    peer = Writer(broker.partition(LOG), client="go", headerless=True)
    peer.claim()
    peer.beat(7)
    peer.release(9)
    async with running(broker) as cluster:
        found = await moved(cluster, {T0: 42})
        assert found[T0].stage is Stage.SET
        assert found[T0].former == 9
        assert (await logged(cluster))[T0] == 42
    words = kinds(broker)[3:]
    assert words == ["ClaimingPartition", "Heartbeat", "ReleasingPartition"]


# -- what goes wrong on the way ----------------------------------------------------------------


async def test_a_commit_that_is_refused_leaves_its_key_where_it_was() -> None:
    broker = laid()
    writer = Writer(broker.partition(LOG))
    writer.beat(7, writer.claim())
    writer.release(7)
    broker.answers.error(OffsetCommitRequest, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    async with running(broker) as cluster:
        found = await moved(cluster, {T0: 42})
        assert found[T0].stage is Stage.KEPT
        assert "not committed" in found[T0].reason
        assert (await logged(cluster))[T0] == 7


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 5.0])
async def test_a_cancelled_call_leaves_positions_set_or_unchanged_and_no_pause(
    seconds: float,
) -> None:
    broker = laid()
    writer = Writer(broker.partition(LOG))
    writer.beat(7, writer.claim())
    writer.release(7)
    said: list[str] = []
    broker.node(1).slow(0.02)
    async with running(broker) as cluster:
        with anyio.move_on_after(seconds):
            await moved(cluster, {T0: 42}, said=said)
        async with claim_log(cluster, AdminSettings("g"), frozenset({"t"})) as place:
            assert place.logged(T0) in (7, 42)
            assert place.pause(place.place("t")) is None
            assert place.free_at(T0) == 0
            set_or_said = place.logged(T0) == 42 or not said or "t-0: not changed" in said[-1]
            assert set_or_said, said


async def test_a_call_takes_over_claims_of_a_dead_administrator() -> None:
    broker = laid()
    dead = Writer(broker.partition(LOG), client="kgroup-admin", instance="dead")
    dead.beat(7, dead.claim())
    async with running(broker) as cluster:
        began = anyio.current_time()
        assert (await moved(cluster, {T0: 42}))[T0].stage is Stage.SET
        assert anyio.current_time() - began < 10
