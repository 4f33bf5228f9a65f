"""kgroup's members of a KIP-848 group on a real Kafka: in, over, out, and what goes wrong."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from kgroup import Consumer, Leave
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, CommitFailedError, UnsupportedVersionError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, MemberState, OffsetAndMetadata
from tests.real.consumer_groups import CONSUMER, described, evict, shared, tune
from tests.real.ground import Ground, committed, eventually, fresh, lay_ground
from tests.real.java_peer import JavaPeer
from tests.real.members import ENDING, Member, group_on, read_on
from tests.real.peers import ConfluentPeer, Peer
from tests.real.sharing import read_by_their_owners
from tests.real.sharing import shared as evenly

pytestmark = pytest.mark.real


async def test_a_member_joins_reads_and_commits_under_its_epoch(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    await ground.fill(10)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        one = await group.join("one")
        await shared(group, 4)
        await group.all_read()
        await one.commit_reads()
        assert committed(kafka, group.name) == dict.fromkeys(range(4), 10)
        known = described(kafka, group.name)
        assert known.group_state == "Stable"
        assert [(each.member_id, each.member_epoch) for each in known.members] == [
            (one.member_id, one.generation_id)
        ]
    assert (await group.verdict()).total.duplicated == 0


async def test_a_newcomer_takes_over_a_half_and_nobody_owns_a_partition_twice(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            one = await group.join("one")
            await shared(group, 6)
            two = await group.join("two")
            await shared(group, 3, 3)
            assert one.took(*ENDING) == [ChangeKind.REVOKED]
            kept = one.owned
            assert one.heard(ChangeKind.REVOKED) == two.owned
            await group.leave(one)
            await shared(group, 6)
            assert kept <= two.owned
            assert two.took(*ENDING) == []
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(one)
    verdict = await group.verdict()
    assert (verdict.total.lost, verdict.total.duplicated) == (0, 0)


async def test_a_slow_revocation_holds_up_nothing_but_its_own_partitions(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    go = anyio.Event()
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            one = await group.join("one")
            await shared(group, 4)

            async def dawdle(_: object) -> None:
                await go.wait()

            one.on_revoking = dawdle
            two = await group.join("two")
            await eventually(lambda: one.heard(ChangeKind.REVOKED), "one is asked to give up")
            kept = one.owned - one.heard(ChangeKind.REVOKED)
            begun, seen = time.monotonic(), len(one.reads)

            def reads_on() -> bool:
                news = {read.tp for read in one.reads[seen:] if read.at > begun}
                return news >= kept

            await eventually(reads_on, "what one keeps is read from")
            assert two.owned == frozenset()
            go.set()
            await shared(group, 2, 2)
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read()
    assert (await group.verdict()).total.lost == 0


async def test_a_static_member_that_restarts_finds_what_it_had_and_nobody_notices(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(10)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name, session=30.0)
        ending = await group.join("ending", group_instance_id="one")
        await shared(group, 6)
        staying = await group.join("staying", group_instance_id="two")
        await shared(group, 3, 3)
        await group.all_read()
        held, changes = ending.owned, len(staying.changes)
        await group.leave(ending)
        await ground.fill(10)
        back = await group.join("back", group_instance_id="one")
        await shared(group, 3, 3)
        await group.all_read(ending)
        assert back.owned == held
        assert len(staying.changes) == changes
    assert (await group.verdict()).total.duplicated == 0


async def test_a_static_twin_waits_for_the_first_one_and_disturbs_nobody(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name, session=30.0)
        first = await group.join("first", group_instance_id="one")
        await shared(group, 4)
        changes = len(first.changes)
        twin = await group.join("twin", group_instance_id="one")
        await eventually(lambda: twin.is_in(MemberState.BACKING_OFF), "the twin is told to wait")
        await anyio.sleep(2.0)
        assert (twin.owned, len(first.changes)) == (frozenset(), changes)
        await group.leave(first)
        await shared(group, 4)


async def test_a_static_member_that_unsubscribes_can_subscribe_again(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        over = anyio.Event()
        one = await group.join("one", lambda _: over.wait(), group_instance_id="one")
        await shared(group, 2)
        one.consumer.unsubscribe()
        await eventually(lambda: not one.owned, "all is handed back")
        one.consumer.subscribe(ground.topic)
        await shared(group, 2)
        over.set()


async def test_a_member_that_is_expelled_loses_everything_and_comes_back(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        one = await group.join("one")
        await shared(group, 4)
        before = set(one.consumer.membership.claims)
        evict(kafka, group.name, one.member_id)
        await eventually(lambda: one.took(ChangeKind.LOST), "one hears that it is expelled")
        await shared(group, 4)
        assert not before & set(one.consumer.membership.claims)
        assert one.heard(ChangeKind.LOST) == ground.all_partitions


async def test_a_commit_of_a_member_that_was_expelled_moves_nothing_and_says_so(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 1)
    await ground.fill(5)
    options = {**CONSUMER, "enable_auto_commit": False}
    async with group_on(ground, tmp_path, **options) as group:
        # Only the commit can find out in time.
        tune(kafka, group.name, session=30.0, heartbeat=10.0)
        one = await group.join("one")
        await shared(group, 1)
        assert (await one.consumer.commit({ground.tp(0): OffsetAndMetadata(1)})).ok
        evict(kafka, group.name, one.member_id)
        with pytest.raises(CommitFailedError) as failed:
            await one.consumer.commit({ground.tp(0): OffsetAndMetadata(3)})
        outcome = failed.value.outcome.partitions[ground.tp(0)]
        assert outcome.code == ErrorCode.UNKNOWN_MEMBER_ID
        assert committed(kafka, group.name) == {0: 1}
        await shared(group, 1)
        assert one.took(ChangeKind.LOST) == [ChangeKind.LOST]


async def test_a_member_that_falls_silent_is_replaced_within_its_session(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name, session=3.0)
        one = await group.join("one")
        await shared(group, 4)
        two = await group.join("two")
        await shared(group, 2, 2)
        await one.consumer.close(leave=Leave.REMAIN)
        group.members.remove(one)
        took = await eventually(lambda: len(two.owned) == 4, "two has everything", timeout=15.0)
        assert took > 1.0


async def test_a_topic_that_grows_and_one_that_is_dropped(kafka: RealKafka, tmp_path: Path) -> None:
    ground, other = await lay_ground(kafka, 2), await lay_ground(kafka, 2)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        one = await group.join("one", topics=(ground.topic, other.topic))
        both = ground.all_partitions | other.all_partitions
        await eventually(lambda: one.owned == both, "one has both topics")
        one.consumer.subscribe(ground.topic)
        await shared(group, 2)
        await ground.widen(4)
        await shared(group, 4)


async def test_a_pattern_takes_what_it_matches(kafka: RealKafka, tmp_path: Path) -> None:
    stem = fresh("stem")
    ground = await lay_ground(kafka, 2, topic=f"{stem}-a")
    async with group_on(ground, tmp_path, metadata_max_age=1.0, **CONSUMER) as group:
        tune(kafka, group.name)
        one = await group.join("one")
        await shared(group, 2)
        one.consumer.subscribe(pattern=f"{stem}-.*")
        other = await lay_ground(kafka, 1, topic=f"{stem}-b")
        both = ground.all_partitions | other.all_partitions
        await eventually(lambda: one.owned == both, "one has what the pattern takes")


async def test_the_brokers_assignor_is_the_one_that_is_asked_for(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, server_assignor="range", **CONSUMER) as group:
        tune(kafka, group.name)
        await group.join("one")
        await shared(group, 4)
        assert described(kafka, group.name).assignor_name == "range"


async def test_an_assignor_that_brokers_do_not_have_is_refused_with_their_words(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 1)
    options = {**CONSUMER, "server_assignor": "no-such"}
    async with group_on(ground, tmp_path, **options) as group:
        one = await group.join("one")
        await one.finished.wait()
        assert isinstance(one.failure, BrokerError)
        assert "uniform" in str(one.failure)
        group.members.remove(one)


@pytest.mark.parametrize("kafka", ["3.9.1"], indirect=True)
async def test_a_broker_without_the_protocol_says_how_to_go_on(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    consumer = Consumer(
        ground.topic,
        bootstrap_servers=kafka.bootstrap,
        group_id=fresh("group"),
        group_protocol="consumer",
    )
    with pytest.raises((UnsupportedVersionError, BrokerError), match="group_protocol='classic'"):
        async with consumer:
            await consumer.getone(timeout=20.0)


async def test_records_flow_while_reading_one_by_one(kafka: RealKafka, tmp_path: Path) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(20)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        await group.join("one", read_on)
        await group.join("two", read_on)
        await shared(group, 1, 1)
        await group.all_read()
    assert (await group.verdict()).total.duplicated == 0


@pytest.mark.parametrize(
    ("kafka", "partitions_of"),
    [("4.3.1", "consumer"), ("3.9.1", "classic")],
    indirect=["kafka"],
)
async def test_auto_takes_what_the_brokers_offer(
    kafka: RealKafka, tmp_path: Path, partitions_of: str
) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(5)
    options = {**CONSUMER, "group_protocol": "auto"}
    async with group_on(ground, tmp_path, **options) as group:
        one = await group.join("one")
        await shared(group, 2)
        await group.all_read()
        leads = one.consumer.membership.leader
        assert ("classic" if leads else "consumer") == partitions_of


def librdkafka(ground: Ground, group: str) -> Peer:
    return ConfluentPeer(ground, group, None)


@pytest.mark.parametrize(
    "libraries",
    [pytest.param((librdkafka,), id="librdkafka"), pytest.param((librdkafka, JavaPeer), id="Java")],
)
async def test_members_of_other_libraries_share_the_group_and_leave_their_part_to_ours(
    kafka: RealKafka, tmp_path: Path, libraries: Sequence[Callable[[Ground, str], Peer]]
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(20)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name)
        one = await group.join("one")
        await shared(group, 6)
        peers = [library(ground, group.name) for library in libraries]
        everybody: tuple[Member | Peer, ...] = (one, *peers)
        async with anyio.create_task_group() as tasks:
            for peer in peers:
                await tasks.start(peer.run)
            await eventually(lambda: evenly(ground, everybody), "each owns its part")
            await read_by_their_owners(ground, everybody)
            known = described(kafka, group.name)
            assert (known.group_state, len(known.members)) == ("Stable", len(everybody))
            for peer in peers:
                peer.stop()
        await shared(group, 6)
        await ground.fill(20)
        await group.all_read(*peers)
        assert one.took(ChangeKind.LOST) == []
        await group.end()
    assert committed(kafka, group.name) == ground.sent
    assert sorted(place for each in everybody for place in each.seen) == sorted(ground.expected())
