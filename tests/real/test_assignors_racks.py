"""Members and replicas in racks (KIP-881), on three real brokers in a rack each.

Each partition has one replica, so it is near to exactly one member. The leader watches racks as it
watches counts: a partition that moves to another rack begins a round, one that moves within the
racks it was in does not.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import Cause
from tests.real.consumer_groups import CONSUMER, described, shared, tune
from tests.real.ground import Ground, coordinator_of, eventually, lay_ground
from tests.real.members import Group, group_on

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas in a deprecated way
    from kafka import KafkaAdminClient
    from kafka import TopicPartition as Place

pytestmark = [
    pytest.mark.real,
    pytest.mark.faults,
    pytest.mark.no_stand_in("replicas do not move there by request"),
]

RACKS = ("rack-1", "rack-2", "rack-3")


async def join_all(group: Group, *racks: str | None) -> None:
    """Have one member join per rack, each after the one before is settled."""
    for number, rack in enumerate(racks, 1):
        await group.join(f"m{number}", client_rack=rack)
        share, more = divmod(group.ground.partitions, number)
        await group.settled(*[share + 1] * more, *[share] * (number - more))


def owners(group: Group) -> Mapping[int, str | None]:
    """Return partition -> the rack of the member that owns it."""
    racks = dict(zip((each.label for each in group.members), RACKS, strict=False))
    return {tp.partition: racks[each.label] for each in group.members for tp in each.owned}


async def replace_replicas(kafka: RealKafka, ground: Ground, rows: Sequence[Sequence[int]]) -> None:
    """Move each partition to other brokers, and wait until that is done."""

    def ask() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
            try:
                places = {Place(ground.topic, number): list(row) for number, row in enumerate(rows)}
                admin.alter_partition_reassignments(places)
                while admin.list_partition_reassignments():
                    pass
            finally:
                admin.close()

    await anyio.to_thread.run_sync(ask)


@pytest.mark.parametrize(
    ("assignor", "anyio_backend"),
    [("range", "asyncio"), ("sticky", "trio"), ("cooperative-sticky", "asyncio")],
)
async def test_partitions_go_to_members_in_the_racks_of_their_replicas(
    kafka_cluster: RealKafka, tmp_path: Path, assignor: str
) -> None:
    """KIP-881: with one replica each there is one division that is all near; it is the result."""
    rows = [[1], [1], [3], [2], [3], [2]]
    ground = await lay_ground(kafka_cluster, len(rows), replicas=rows)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        await join_all(group, *RACKS)
        assert owners(group) == {n: f"rack-{node}" for n, (node,) in enumerate(rows)}
        await ground.fill(5)
        await group.all_read()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_members_without_a_rack_take_what_is_near_to_nobody(
    kafka_cluster: RealKafka, tmp_path: Path
) -> None:
    rows = [[1], [2], [3], [1]]
    ground = await lay_ground(kafka_cluster, len(rows), replicas=rows)
    async with group_on(ground, tmp_path, assignors=("range",)) as group:
        await join_all(group, "rack-1", None)
        assert {tp.partition for tp in group.members[0].owned} == {0, 3}


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_leader_notices_replicas_that_move_to_other_racks_and_nothing_less(
    kafka_cluster: RealKafka, tmp_path: Path
) -> None:
    """KIP-881: the leader's snapshot of the group's topics has racks. Each partition passes through
    a time in which both replicas are there, so each may be seen twice. A broker that is away is
    where it was."""
    rows = [[1], [2], [3]]
    ground = await lay_ground(kafka_cluster, len(rows), replicas=rows)
    async with group_on(ground, tmp_path, assignors=("range",), metadata_max_age=0.5) as group:
        await join_all(group, *RACKS)
        assert owners(group) == {0: "rack-1", 1: "rack-2", 2: "rack-3"}
        await group.steady()
        leader, before = group.members[0], group.members[0].generation_id
        assert before is not None
        await replace_replicas(kafka_cluster, ground, [[2], [3], [1]])
        near = {0: "rack-2", 1: "rack-3", 2: "rack-1"}
        await eventually(lambda: owners(group) == near, "all are near again")
        await group.steady()
        assert owners(group) == near
        assert leader.consumer.membership.cause is Cause.TOPICS_CHANGED
        after = leader.generation_id
        assert after in range(before + 1, before + 2 * len(rows) + 1)
        kafka_cluster.stop(coordinator_free(kafka_cluster, group.name))
        await anyio.sleep(2.0)
        assert leader.generation_id == after


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_coordinator_is_told_racks_and_divides_without_them(
    kafka_cluster: RealKafka, tmp_path: Path
) -> None:
    """KIP-848 on 4.3.1: neither of its assignors looks at racks, wherever the replicas are."""
    found = []
    for rows in ([[1], [1], [3], [2], [3], [2]], [[3], [2], [1], [3], [2], [1]]):
        ground = await lay_ground(kafka_cluster, len(rows), replicas=rows)
        async with group_on(ground, tmp_path, server_assignor="uniform", **CONSUMER) as group:
            tune(kafka_cluster, group.name)
            for number, rack in enumerate(RACKS, 1):
                await group.join(f"m{number}", client_rack=rack)
                await shared(group, *[len(rows) // number] * number)
            told = described(kafka_cluster, group.name).members
            assert sorted(each.rack_id or "" for each in told) == sorted(RACKS)
            found.append(owners(group))
    assert found[0] == found[1]


def coordinator_free(kafka: RealKafka, group: str) -> int:
    """Return a broker that does not coordinate the group."""
    return next(node for node in kafka.nodes if node != coordinator_of(kafka, group))
