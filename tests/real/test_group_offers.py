"""What can be known of the assignors of live groups, mixed ones too: on real brokers.

Nobody shows the lists of members. What all members have in common can be asked all the same, and
these tests hold what the answer rests on: both coordinators look at a JoinGroup's list before they
look at its member id, and such a question leaves nothing behind.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from confluent_kafka import Consumer

from kgroup.admin.obstacles import ObstacleKind, find_obstacles
from kgroup.admin.offers import GroupOffers, describe_offers
from kgroup.admin.offers_text import offers_in_words
from kgroup.assignors import BUILT_IN
from kgroup.cli import main
from kgroup.cli.connecting import connected
from kgroup.cli.groups_offers import offers_json
from kgroup.codes import ErrorCode
from kgroup.config import ConsumerConfig
from kgroup.errors import UnauthorizedError
from kgroup.testing.kafka import (
    Acl,
    AclOperation,
    AclResource,
    RealKafka,
    add_acls,
    remove_acls,
)
from kgroup.testing.kafka.in_process import STAND_IN
from kgroup.types import RebalanceProtocol
from tests.assignors.peers_packages import KafkaCooperative
from tests.real.ground import Ground, describe, eventually, lay_ground
from tests.real.java_peer import JavaPeer
from tests.real.members import CROSSED, Group, group_on
from tests.real.peers import AiokafkaPeer, ConfluentPeer, KafkaPythonPeer, Peer
from tests.real.tuned import tuned

pytestmark = pytest.mark.real

COOPERATIVE = "cooperative-sticky"
PARTITIONS = 6
EAGER, COOPERATES = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE


async def offers_of(group: Group, options: Mapping[str, Any] | None = None) -> GroupOffers:
    """Ask as a client that is no member."""
    servers = {"bootstrap_servers": group.ground.kafka.bootstrap}
    config = ConsumerConfig.of(options or servers)
    async with connected(config) as cluster:
        return await describe_offers(cluster, group.name, ask=("zone",), timeout=10.0)


@CROSSED
async def test_asking_what_is_common_tells_the_truth_and_changes_nothing(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path) as group:
        await group.join("one", assignors=("range", COOPERATIVE, "sticky"))
        await group.join("two", assignors=("sticky", "roundrobin", "range"))
        await group.settled(3, 3)
        await group.steady()
        before = [(each.consumer.membership, len(each.changes)) for each in group.members]
        found = [await offers_of(group) for _ in range(3)]
        await anyio.sleep(1.0)
        assert [(each.consumer.membership, len(each.changes)) for each in group.members] == before
        await group.join(
            "three", assignors=("range",)
        )  # a member that does not exist is not waited for
        await group.settled(2, 2, 2)
        last = await offers_of(group)
        await group.end()
    for each in found:
        assert each.common == {"range", "sticky"}
        assert each.not_common == {COOPERATIVE, "roundrobin", "zone"}
        assert each.protocol is RebalanceProtocol.EAGER
    assert last.common == {"range"}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_members_of_the_newer_protocol_list_nothing_and_are_in_the_way(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-848: the coordinator assigns, and no member is asked anything."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with group_on(ground, tmp_path) as group:
        newer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": group.name,
                "group.protocol": "consumer",
            }
        )
        newer.subscribe([ground.topic])
        try:
            await eventually(lambda: newer.poll(0) or newer.assignment(), "it owns something")
            found = await offers_of(group)
        finally:
            await anyio.to_thread.run_sync(newer.close)
    (obstacle,) = find_obstacles(found, (COOPERATIVE,))
    assert obstacle.kind is ObstacleKind.OTHER_PROTOCOL
    assert not found.common | found.not_common


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_offers_with_the_right_to_describe_only_hold_the_assignor_in_use_and_the_refusal(
    kafka_secure: RealKafka, tmp_path: Path
) -> None:
    """DescribeGroups needs DESCRIBE of the group, a JoinGroup needs READ; beside aiokafka."""
    ground = await lay_ground(kafka_secure, PARTITIONS)
    options = kafka_secure.access.options("SASL_SSL", "SCRAM-SHA-512", "alice")
    async with (
        group_on(ground, tmp_path, assignors=("sticky", COOPERATIVE)) as group,
        anyio.create_task_group() as tasks,
    ):
        peer = AiokafkaPeer(ground, group.name, "sticky")
        await tasks.start(peer.run)
        ours = await group.join("ours")
        await eventually(
            lambda: len(ours.owned) == len(peer.owned) == PARTITIONS // 2, "they share"
        )
        denial = Acl("alice", AclResource.GROUP, group.name, AclOperation.READ, allowed=False)
        grant = replace(denial, operation=AclOperation.DESCRIBE, allowed=True)
        add_acls(kafka_secure.bootstrap, grant, denial)
        found = await until_refused(group, options)
        remove_acls(kafka_secure.bootstrap, denial, grant)
        peer.stop()
        await group.settled(PARTITIONS)
        await group.end()
    assert isinstance(found.refusal, UnauthorizedError)
    assert found.refusal.resources == (group.name,)
    assert found.common == {"sticky"}
    assert not found.not_common
    assert sorted(each.version or 0 for each in found.members) == [0, 3]
    assert {each.protocol for each in found.members} == {EAGER}
    (obstacle,) = (each for each in find_obstacles(found, (COOPERATIVE,)) if each.step == 1)
    assert obstacle.kind is ObstacleKind.NOT_ASKED
    assert "could not be asked" in offers_in_words(found)


async def until_refused(group: Group, options: Mapping[str, Any]) -> GroupOffers:
    """Ask until the rule holds: a broker carries it out a while after it has confirmed it."""
    with anyio.fail_after(20):
        while True:
            try:
                found = await offers_of(group, options)
            except UnauthorizedError:
                continue  # not even described yet
            if found.refusal is not None:
                return found


@pytest.fixture(scope="module")
def narrow(kafka: RealKafka) -> Iterator[RealKafka]:
    """A broker whose groups have two members at most."""
    small = replace(STAND_IN, max_group_size=2)
    with tuned(kafka, small, {"group.max.size": "2"}) as started:
        yield started


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_offers_of_a_group_that_is_full_hold_the_assignor_in_use(
    narrow: RealKafka, tmp_path: Path
) -> None:
    """With a place left it is asked; with none, every client that is no member is refused."""
    ground = await lay_ground(narrow, PARTITIONS)
    async with (
        group_on(ground, tmp_path, assignors=("range", COOPERATIVE)) as group,
        anyio.create_task_group() as tasks,
    ):
        peer = AiokafkaPeer(ground, group.name, "range")
        await tasks.start(peer.run)
        await eventually(lambda: len(peer.owned) == PARTITIONS, "the peer owns all")
        before = await offers_of(group)
        ours = await group.join("ours")
        await eventually(
            lambda: len(ours.owned) == len(peer.owned) == PARTITIONS // 2, "they share"
        )
        full = await offers_of(group)
        peer.stop()
        await group.settled(PARTITIONS)
        await group.end()
    assert before.refusal is None
    assert COOPERATIVE in before.not_common
    assert full.refusal is not None
    assert full.refusal.code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert full.common == {"range"}
    assert not full.not_common
    assert len(full.members) == 2
    assert offers_json(full, ())["refusal"] == str(full.refusal)


@dataclass(frozen=True, slots=True)
class Case:
    """A peer, and what is known of it.

    Args:
        peer: makes it.
        lists: its list.
        ours: that of the member of ours which joins it.
        version: of its subscription.
        alone: how it rebalances, as far as it shows while it is alone.
        later: the same after it has been in a round with a member of ours.
        kinds: what then stands in the way of a restart with cooperative-sticky only.
    """

    peer: Callable[[Ground, str], Peer]
    lists: tuple[str, ...]
    ours: tuple[str, ...]
    version: int
    alone: RebalanceProtocol | None
    later: RebalanceProtocol | None
    kinds: frozenset[ObstacleKind]


AIOKAFKA = Case(
    peer=lambda ground, group: AiokafkaPeer(ground, group, "sticky"),
    lists=("sticky",),
    ours=(COOPERATIVE, "sticky"),
    version=0,
    alone=EAGER,
    later=EAGER,
    kinds=frozenset({ObstacleKind.NOTHING_IN_COMMON, ObstacleKind.NO_GENERATION}),
)
CONFLUENT = Case(
    peer=lambda ground, group: ConfluentPeer(ground, group, COOPERATIVE),
    lists=(COOPERATIVE,),
    ours=(COOPERATIVE,),
    version=3,
    alone=None,
    later=COOPERATES,
    kinds=frozenset(),
)
KAFKA_PYTHON = Case(
    peer=lambda ground, group: KafkaPythonPeer(ground, group, KafkaCooperative),
    lists=(COOPERATIVE,),
    ours=(COOPERATIVE,),
    version=1,
    alone=None,
    later=COOPERATES,
    kinds=frozenset({ObstacleKind.NO_GENERATION}),
)
JAVA = Case(
    peer=lambda ground, group: JavaPeer(ground, group, COOPERATIVE, "range"),
    lists=(COOPERATIVE, "range"),
    ours=(COOPERATIVE,),
    version=3,
    alone=EAGER,
    later=None,
    kinds=frozenset({ObstacleKind.PERHAPS_MIXED}),
)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("kafka", "case"),
    [
        pytest.param("4.3.1", AIOKAFKA, id="aiokafka"),
        pytest.param("3.9.1", CONFLUENT, id="confluent-kafka"),
        pytest.param("4.3.1", KAFKA_PYTHON, id="kafka-python"),
        pytest.param("3.9.1", JAVA, id="Java"),
    ],
    indirect=["kafka"],
)
async def test_what_a_member_of_another_library_offers_is_described(
    kafka: RealKafka, tmp_path: Path, case: Case
) -> None:
    """Alone its list is known; in company what all have in common, and that it is no more."""
    ground = await lay_ground(kafka, PARTITIONS)
    async with (
        group_on(ground, tmp_path, assignors=case.ours) as group,
        anyio.create_task_group() as tasks,
    ):
        peer = case.peer(ground, group.name)
        await tasks.start(peer.run)
        await eventually(lambda: len(peer.owned) == PARTITIONS, "the peer owns all")
        check_alone(await offers_of(group), case)
        await join_for_two_rounds(group, peer)
        found = await offers_of(group)
        code = await anyio.to_thread.run_sync(main, command(group))
        peer.stop()
        await group.settled(PARTITIONS)
        await group.end()
    theirs, ours = sorted(found.members, key=lambda each: each.member.client_id == "ours")
    assert found.common == set(case.lists) & set(case.ours)
    assert theirs.lacks == ours.lacks == frozenset()
    assert (theirs.version, theirs.protocol, ours.version) == (case.version, case.later, 3)
    assert {each.kind for each in find_obstacles(found, (COOPERATIVE,))} == case.kinds
    assert "?" in offers_in_words(found)
    assert code == (ObstacleKind.NOTHING_IN_COMMON in case.kinds)


def command(group: Group) -> list[str]:
    """Return the words that ask the same on a command line."""
    words = ["groups", "offers", group.name, "--next", COOPERATIVE]
    return [*words, "--bootstrap", group.ground.kafka.bootstrap]


def check_alone(found: GroupOffers, case: Case) -> None:
    """Of a member without company the whole list is known, as far as it was asked about."""
    (only,) = found.members
    assert only.offers == set(case.lists)
    assert only.lacks == {*BUILT_IN, "zone"} - set(case.lists)
    assert (only.version, only.protocol, only.kept) == (case.version, case.alone, 0)
    assert only.member.topics is not None


async def join_for_two_rounds(group: Group, peer: Peer) -> None:
    """Have a member of ours join, and have one more round in which each has what it had."""
    ours = await group.join("ours")
    share = PARTITIONS // 2

    def is_shared() -> bool:
        return (len(ours.owned), len(peer.owned)) == (share, share) and ours.knows_its_round

    await eventually(is_shared, "each owns its half")
    await until_in_order(group)  # a cooperative change takes a second round
    before = ours.generation_id
    assert before is not None
    ours.consumer.enforce_rebalance("the test wants a round")
    await eventually(lambda: (ours.generation_id or 0) > before, "a round")
    await eventually(is_shared, "each owns its half again")


async def until_in_order(group: Group) -> None:
    """Ask the coordinator until no round is on."""
    with anyio.fail_after(20):
        while True:
            found = await anyio.to_thread.run_sync(describe, group.ground.kafka, group.name)
            if found.group_state == "Stable":
                return
            await anyio.sleep(0.05)
