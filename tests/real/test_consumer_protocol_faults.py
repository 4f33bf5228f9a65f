"""KIP-848 groups on a real Kafka in bad times: deaths, late static members, topics made anew.

What is short runs in `test_consumer_protocol`. Here each test lasts as long as a session, a
restart, or the brokers' own patience.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from confluent_kafka.admin import AdminClient

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.child import child
from tests.real.consumer_groups import CONSUMER, shared, tune
from tests.real.ground import Ground, committed, coordinator_of, eventually, fresh, lay_ground
from tests.real.members import Group, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

SESSION = 4.0


# -- members that die, and static ones that are late ---------------------------------------------


async def test_what_a_killed_member_had_is_read_on_within_its_session(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name, session=SESSION)
        one = await group.join("one")
        await shared(group, 4)
        options = group.options("killed")
        log = tmp_path / "killed.jsonl"
        async with (
            child(ground.topic, log, anyio_backend_name, **options) as killed,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(ground.stream)
            await eventually(lambda: len(one.owned) == 2, "the child takes a half over")
            taken = ground.all_partitions - one.owned
            await eventually(lambda: {tp for tp, _ in killed.seen} == taken, "and reads it")
            kept = len(one.changes)
            await killed.kill()
            await eventually(lambda: len(one.owned) == 4, "it has all", timeout=SESSION + 6.0)
            assert [each.kind for each in one.changes[kept:] if each.removed] == []
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(killed)
        await group.end()
    assert committed(kafka, group.name) == ground.sent
    assert (await group.verdict()).total.lost == 0


async def test_a_static_member_that_is_back_after_its_session_finds_its_share_elsewhere(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, **CONSUMER) as group:
        tune(kafka, group.name, session=SESSION)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            ending = await group.join("ending", group_instance_id="one")
            await shared(group, 4)
            staying = await group.join("staying", group_instance_id="two")
            await shared(group, 2, 2)
            await group.leave(ending)
            took = await eventually(lambda: len(staying.owned) == 4, "the other one has all")
            assert took > 1.0  # a session that has begun is waited for
            await group.join("back", group_instance_id="one")
            await shared(group, 2, 2)
            assert staying.took(ChangeKind.LOST) == []
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(ending)
    assert (await group.verdict()).total.lost == 0


# -- topics ----------------------------------------------------------------------------------------


async def test_a_topic_that_is_made_anew_is_owned_under_its_new_id_and_read_from_its_beginning(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground, kept = await lay_ground(kafka, 2), await lay_ground(kafka, 1)
    both = ground.all_partitions | kept.all_partitions
    options = {**CONSUMER, "metadata_max_age": 1.0}
    async with group_on(ground, tmp_path, **options) as group:
        tune(kafka, group.name)
        over = anyio.Event()
        one = await group.join("one", lambda _: over.wait(), topics=(ground.topic, kept.topic))
        await eventually(lambda: one.owned == both, "both are owned")
        before = set(one.consumer.membership.claims)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        gone = admin.delete_topics([ground.topic])[ground.topic]
        await anyio.to_thread.run_sync(gone.result, 10.0)
        await eventually(lambda: one.owned == kept.all_partitions, "it is given up")
        again = await lay_ground(kafka, 3, topic=ground.topic)
        await again.fill(4)
        both = again.all_partitions | kept.all_partitions
        await eventually(lambda: one.owned == both, "it is owned again")
        same = before & set(one.consumer.membership.claims)
        assert {claim.tp for claim in same} == kept.all_partitions
        await reads_all(one, again)
        over.set()


async def reads_all(member: Member, ground: Ground) -> None:
    """Read with a member's consumer until all that lies in a topic has come."""
    left = ground.expected()
    with anyio.fail_after(20.0):
        while left:
            for tp, rows in (await member.consumer.getmany(timeout=0.5)).items():
                left -= {(tp, row.offset) for row in rows}


async def test_the_coordinator_finds_new_topics_that_fit_a_pattern(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """The coordinator looks at patterns again ten seconds after it has looked, at the earliest."""
    stem = fresh("stem")
    ground = await lay_ground(kafka, 2, topic=f"{stem}-a")
    await lay_ground(kafka, 1, topic=f"not-{stem}")
    options = {**CONSUMER, "pattern_on": "broker", "metadata_max_age": 300.0}
    async with group_on(ground, tmp_path, **options) as group:
        tune(kafka, group.name)
        one = await group.join("one")
        one.consumer.subscribe(pattern=f"{stem}-.*")
        await shared(group, 2)
        other = await lay_ground(kafka, 1, topic=f"{stem}-b")
        both = ground.all_partitions | other.all_partitions
        await eventually(lambda: one.owned == both, "one has the new one too", timeout=40.0)


# -- brokers ---------------------------------------------------------------------------------------

Phase = Callable[["Scene"], Awaitable[None]]


class Scene:
    """A group of two on three brokers, while records flow."""

    def __init__(self, group: Group, one: Member, two: Member, victim: int) -> None:
        self.group, self.one, self.two, self.victim = group, one, two, victim
        self.go = anyio.Event()

    async def kill(self) -> None:
        kafka = self.group.ground.kafka
        await anyio.to_thread.run_sync(kafka.kill, self.victim)


async def in_peace(scene: Scene) -> None:
    await scene.kill()


async def at_a_join(scene: Scene) -> None:
    await scene.group.join("three")
    await scene.kill()


async def amid_a_revocation(scene: Scene) -> None:
    async def dawdle(_: object) -> None:
        await scene.go.wait()

    scene.one.on_revoking = scene.two.on_revoking = dawdle
    await scene.group.join("three")
    members = scene.one, scene.two
    asked = lambda: any(each.heard(ChangeKind.REVOKED) for each in members)  # noqa: E731
    await eventually(asked, "somebody is asked to give up")
    await scene.kill()
    scene.go.set()


async def at_a_leave(scene: Scene) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scene.group.leave, scene.two)
        await scene.kill()


@pytest.mark.parametrize("phase", [in_peace, at_a_join, amid_a_revocation, at_a_leave])
async def test_a_coordinator_that_dies_costs_no_record_and_no_partition_two_owners(
    kafka_cluster: RealKafka, tmp_path: Path, phase: Phase
) -> None:
    name = fresh("group")
    tune(kafka_cluster, name, session=30.0)
    victim = await anyio.to_thread.run_sync(coordinator_of, kafka_cluster, name)
    ground = await away_from(kafka_cluster, victim)
    async with group_on(ground, tmp_path, name=name, **CONSUMER) as group:
        one, two = await group.join("one"), await group.join("two")
        await shared(group, 3, 3)
        everybody = [one, two]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            await group.all_read_more()
            await phase(Scene(group, one, two, victim))
            everybody += [each for each in group.members if each not in everybody]
            shares = {1: (6,), 2: (3, 3), 3: (2, 2, 2)}
            with anyio.fail_after(60.0):
                await in_shares(group, shares[len(group.members)])
            await group.all_read_more()
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(*everybody)
        assert [each.took(ChangeKind.LOST) for each in everybody] == [[]] * len(everybody)
    verdict = await group.verdict()
    assert (verdict.total.lost, verdict.total.two_owners) == (0, 0)


async def in_shares(group: Group, sizes: tuple[int, ...]) -> None:
    """Wait as `shared` does, however long it takes brokers to elect another coordinator."""
    while True:
        try:
            await shared(group, *sizes)
        except TimeoutError:
            continue
        return


async def away_from(kafka: RealKafka, victim: int) -> Ground:
    """Make six partitions on the brokers that live."""
    one, other = (node for node in kafka.nodes if node != victim)
    return await lay_ground(kafka, 6, replicas=[[one, other], [other, one]] * 3)
