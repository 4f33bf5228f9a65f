"""The cluster: metadata kept fresh, believed with care, and never a storm."""

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.errors import ConnectionLostError
from kgroup.net.settings import Lane
from kgroup.types import TopicPartition
from kgroup.wire.messages import MetadataRequest, MetadataResponse
from tests.net.stage import BEAT, Heard, beating, metadata_requests, running
from tests.search.scripted.broker import Delayed
from tests.search.scripted.cluster import ScriptedCluster

ORDERS_0 = TopicPartition("orders", 0)


@pytest.fixture
def scripted() -> ScriptedCluster:
    return beating(3, orders=3, returns=1)


# -- fresh metadata ------------------------------------------------------------------------------


async def test_watched_topics_are_asked_for(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        assert not cluster.view.topics
        cluster.watch(frozenset({"orders"}))
        view = await cluster.changed(cluster.view)
    assert view.partitions_of("orders") == tuple(TopicPartition("orders", n) for n in range(3))
    assert [view.leader(tp) for tp in view.partitions_of("orders")] == [1, 2, 3]
    assert view.topic_named(view.topic_id("orders") or b"") == "orders"


async def test_topics_nobody_has_asked_about_do_not_wait_like_a_retry(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted, retry_backoff=30.0, retry_backoff_max=30.0) as cluster:
        await cluster.bootstrap(5)
        for seconds, topic in ((2, "orders"), (4, "returns")):
            cluster.watch(frozenset({topic}))
            await cluster.changed(cluster.view)
            assert topic in cluster.view.topics
            assert anyio.current_time() < seconds


async def test_watching_none_shows_all_topics(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        cluster.watch(None)
        view = await cluster.bootstrap(5)
    assert set(view.topics) == {"orders", "returns"}


async def test_consumers_do_not_create_topics_by_asking(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"typo"}))
        await cluster.bootstrap(5)
    (first, *_) = [r for b in scripted.brokers for r in b.requests(MetadataRequest)]
    assert not first.allow_auto_topic_creation


async def test_metadata_is_asked_again_when_it_is_old(scripted: ScriptedCluster) -> None:
    async with running(scripted, metadata_max_age=300.0) as cluster:
        await cluster.bootstrap(5)
        before = metadata_requests(scripted)
        await anyio.sleep(299)
        assert metadata_requests(scripted) == before
        await anyio.sleep(2)
        assert metadata_requests(scripted) == before + 1


@pytest.mark.parametrize(("waited", "bound"), [(0.5, 1.5), (20, 6.5), (120, 18), (1200, 150)])
async def test_a_missing_topic_is_found_soon_after_it_is_made(
    scripted: ScriptedCluster, waited: float, bound: float
) -> None:
    """Within 5 s at first, later within a tenth of the time waited; plus a fifth of jitter."""
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"late"}))
        view = await cluster.bootstrap(5)
        assert view.topics["late"].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await anyio.sleep(waited)
        assert metadata_requests(scripted) < 60
        scripted.add_topic("late", 2)
        view = await cluster.changed(view)
        assert anyio.current_time() - waited < bound
        assert len(view.partitions_of("late")) == 2


async def test_a_missing_topic_is_asked_for_at_least_as_often_as_metadata_gets_old(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted, metadata_max_age=30.0) as cluster:
        cluster.watch(frozenset({"late"}))
        view = await cluster.bootstrap(5)
        await anyio.sleep(3600)
        scripted.add_topic("late", 2)
        await cluster.changed(view)
        assert anyio.current_time() - 3600 < 31


async def test_a_name_asked_for_after_everything_is_asked_for_by_name(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted, allow_auto_create_topics=True) as cluster:
        cluster.watch(None)
        view = await cluster.bootstrap(5)
        assert view.asked is None
        cluster.watch(frozenset({"late"}))
        view = await cluster.changed(view)
        assert view.asked == frozenset({"late"})
    asked = [r for b in scripted.brokers for r in b.requests(MetadataRequest)]
    assert all(request.allow_auto_topic_creation for request in asked)


async def test_a_name_asked_for_while_everything_is_asked_for_is_chased_all_the_same(
    scripted: ScriptedCluster,
) -> None:
    for broker in scripted.brokers:
        broker.once(MetadataRequest, lambda request: Delayed(scripted.metadata(request), 0.5))
    async with running(scripted) as cluster:
        cluster.watch(None)
        await anyio.sleep(0.2)  # the question is on its way
        cluster.watch(frozenset({"late"}))
        view = await cluster.bootstrap(5)
        assert view.asked is None
        scripted.add_topic("late", 1)
        view = await cluster.changed(view)
        assert view.asked == frozenset({"late"})
        assert anyio.current_time() < 2


async def test_invalidating_all_the_time_is_never_a_storm(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        before = metadata_requests(scripted)
        for _ in range(3000):
            cluster.invalidate()
            await anyio.sleep(0.01)
        assert metadata_requests(scripted) - before < 60


async def test_an_invalidation_after_a_calm_time_is_served_at_once(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await anyio.sleep(60)
        await cluster.refresh(5)
        assert anyio.current_time() == pytest.approx(60)


async def test_a_refresh_is_asked_for_after_the_call(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"orders"}))
        await cluster.bootstrap(5)
        scripted.move_leader(ORDERS_0, 3)
        view = await cluster.refresh(5)
    assert view.leader(ORDERS_0) == 3


async def test_a_refresh_without_brokers_times_out_and_says_why(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        for broker in scripted.brokers:
            broker.go_down()
        with pytest.raises(TimeoutError, match="refuses connections"):
            await cluster.refresh(10)


async def test_an_older_leader_epoch_is_ignored(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        cluster.watch(frozenset({"orders"}))
        scripted.move_leader(ORDERS_0, 3)
        await cluster.bootstrap(5)
        behind = scripted.topics["orders"].partitions[0]
        behind.leader, behind.epoch = 1, 0
        view = await cluster.refresh(5)
    assert view.leader(ORDERS_0) == 3


async def test_an_answer_that_shows_nothing_new_keeps_the_very_view(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        before = await cluster.bootstrap(5)
        assert await cluster.refresh(5) is before


async def test_an_entry_that_is_not_believed_is_passed_to_the_trace(
    scripted: ScriptedCluster,
) -> None:
    heard = Heard()
    async with running(scripted, trace=heard) as cluster:
        before = await cluster.bootstrap(5)
        scripted.broker(2).port = 0
        view = await cluster.refresh(5)
    assert view is before
    assert heard.rejected == ["broker 2 at 'broker-2':0: port 0 is not one"]


async def test_an_answer_without_a_usable_broker_changes_nothing(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        before = await cluster.bootstrap(5)
        for broker in scripted.brokers:
            broker.once(MetadataRequest, MetadataResponse(brokers=(), topics=()))
        assert await cluster.refresh(10) is before


async def test_looking_up_a_topic_does_not_watch_it(scripted: ScriptedCluster) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        found = await cluster.look_up(frozenset({"orders"}), 5)
        assert len(found.partitions_of("orders")) == 3
        assert not cluster.view.topics


async def test_a_silent_broker_holds_up_metadata_for_two_seconds_only(
    scripted: ScriptedCluster,
) -> None:
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        await anyio.sleep(10)
        for broker in scripted.brokers[:2]:
            broker.mute = True
        await cluster.refresh(10)
        assert anyio.current_time() - 10 <= 4.1


# -- the cluster moves ---------------------------------------------------------------------------


async def test_when_no_known_broker_answers_the_bootstrap_addresses_are_asked_again(
    scripted: ScriptedCluster,
) -> None:
    scripted.listed = {1}
    async with running(scripted, bootstrap=(("broker-1", 9092), ("broker-3", 9092))) as cluster:
        await cluster.bootstrap(5)
        scripted.broker(1).go_down()
        scripted.listed = {2, 3}
        view = await cluster.refresh(10)
    assert sorted(view.brokers) == [2, 3]


async def test_a_broker_may_ask_for_a_new_bootstrap(scripted: ScriptedCluster) -> None:
    scripted.listed = {1}
    async with running(scripted, bootstrap=(("broker-3", 9092),)) as cluster:
        await cluster.bootstrap(5)
        rebootstrap = ErrorCode.REBOOTSTRAP_REQUIRED
        scripted.broker(1).on(
            MetadataRequest, MetadataResponse(brokers=(), topics=(), error_code=rebootstrap)
        )
        scripted.listed = {2}
        view = await cluster.refresh(10)
    assert sorted(view.brokers) == [2]
    assert len(scripted.broker(1).requests(MetadataRequest)) == 1


# -- learned addresses ----------------------------------------------------------------------------


@pytest.mark.parametrize("corrected_by", ["a better word", "metadata"])
async def test_an_address_learned_wrong_is_forgotten_at_the_next_right_one(
    scripted: ScriptedCluster, corrected_by: str
) -> None:
    """N14: also when that is what metadata has said all along, and so is no news."""
    async with running(scripted) as cluster:
        await cluster.bootstrap(5)
        cluster.learn_node(2, "nowhere", 9092)
        with pytest.raises(ConnectionLostError, match="nowhere"):
            await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
        if corrected_by == "metadata":
            await cluster.refresh(5)
        else:
            cluster.learn_node(2, "broker-2", 9092)
        await cluster.send(2, BEAT, lane=Lane.HEARTBEAT, timeout=5)
