"""What handles of an in-process cluster show and do, with members that are kgroup's own."""

import copy
from typing import Any

import anyio
import pytest

from kgroup import Consumer
from kgroup.errors import FencedError
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import (
    VIRTUAL_BACKENDS,
    WALL_AT_START,
    virtual_backend,
    virtual_ports,
)
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest
from kgroup.wire.records import NewRecord

pytestmark = pytest.mark.anyio

FIRST = TopicPartition("orders", 0)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


@pytest.fixture
def broker() -> InProcessBroker:
    return InProcessBroker(nodes=2, topics={"orders": 2}, racks=("east", "west"))


def consumer(broker: InProcessBroker, name: str, **options: Any) -> Consumer[Any, Any]:
    defaults: dict[str, Any] = {
        "group_id": "g",
        "client_id": name,
        "bootstrap_servers": ",".join(f"{host}:{port}" for host, port in broker.bootstrap),
        "auto_offset_reset": "earliest",
        "ports": virtual_ports(broker.dial),
    }
    return Consumer("orders", **{**defaults, **options})


async def read_for(seconds: float, member: Consumer[Any, Any]) -> list[bytes]:
    values: list[bytes] = []
    with anyio.move_on_after(seconds):
        async for record in member:
            values.append(record.value)
    return values


# -- groups ------------------------------------------------------------------------------------


async def test_a_group_that_does_not_exist_is_dead(broker: InProcessBroker) -> None:
    view = broker.group("none").view()
    assert (view.state, view.generation, view.members, dict(view.offsets)) == ("Dead", 0, (), {})
    with pytest.raises(ValueError, match="there is no group 'none'"):
        broker.group("none").rebalance()


async def test_a_view_stays_as_it_was_taken(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A", group_instance_id="one") as member:
        await read_for(1, member)
        view = group.view()
        group.commit({FIRST: 3})
        (seen,) = view.members
        assert (seen.client_id, seen.instance_id, seen.is_parked) == ("A", "one", False)
        assert seen.partitions == (FIRST, TopicPartition("orders", 1))
        assert (view.protocol, view.leader, dict(view.offsets)) == ("range", seen.member_id, {})


async def test_a_rebalance_costs_a_round_and_no_member_its_place(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(1, member)
        before = group.view()
        group.rebalance()
        assert group.state == "PreparingRebalance"
        await read_for(10, member)
        after = group.view()
        assert (after.state, after.generation) == ("Stable", before.generation + 1)
        assert after.leader == before.leader


async def test_a_fenced_member_raises_fenced_error(broker: InProcessBroker) -> None:
    group = broker.group("g")

    async def live() -> None:
        async with consumer(broker, "A", group_instance_id="one") as member:
            await read_for(1, member)
            group.fence("one")
            await read_for(20, member)

    with pytest.raises(FencedError):
        await live()
    assert [each.instance_id for each in group.members] == ["one"]


async def test_only_static_members_can_be_fenced(broker: InProcessBroker) -> None:
    async with consumer(broker, "A") as member:
        await read_for(1, member)
        with pytest.raises(ValueError, match="no static member 'one'"):
            broker.group("g").fence("one")


async def test_members_of_a_deleted_group_form_it_anew(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(1, member)
        group.commit({FIRST: 1})
        group.delete()
        assert (group.state, group.offsets) == ("Dead", {})
        await read_for(10, member)
        assert (group.state, group.generation) == ("Stable", 1)


async def test_a_member_begins_where_the_handle_committed(broker: InProcessBroker) -> None:
    broker.partition("orders").append("a", "b", "c")
    broker.group("g").commit({FIRST: OffsetAndMetadata(2, "by hand")})
    assert broker.group("g").offsets[FIRST].metadata == "by hand"
    async with consumer(broker, "A") as member:
        assert await read_for(1, member) == [b"c"]


async def test_expire_takes_member_id_client_id_or_instance_id(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A", group_instance_id="one") as member:
        for name in ("A", "one"):
            await read_for(4, member)
            group.expire(name)
            assert group.state == "Empty"
        await read_for(4, member)
        (seen,) = group.members
        group.expire(seen.member_id)
        assert group.state == "Empty"
        await read_for(4, member)
        with pytest.raises(ValueError, match="no member 'B'"):
            group.expire("B")


# -- partitions --------------------------------------------------------------------------------


def test_what_is_appended_can_be_read_back(broker: InProcessBroker) -> None:
    part = broker.partition("orders", 1)
    assert part.append("text", b"bytes", ("k", "v"), None, key="all") == [0, 1, 2, 3]
    assert part.append(NewRecord(b"own", b"x", (("h", b"1"),), 5), timestamp=6) == [4]
    assert [(each.key, each.value) for each in part.records()] == [
        (b"all", b"text"),
        (b"all", b"bytes"),
        (b"k", b"v"),
        (b"all", None),
        (b"own", b"x"),
    ]
    assert [each.timestamp for each in part.records()] == [int(WALL_AT_START * 1000)] * 4 + [5]
    assert part.records()[4].headers == (("h", b"1"),)
    assert (part.start, part.end, part.high_watermark) == (0, 5, 5)


def test_a_log_can_be_cut_at_both_ends(broker: InProcessBroker) -> None:
    part = broker.partition("orders")
    for value in "abcd":
        part.append(value)
    part.truncate(3)
    part.delete_before(1)
    assert [(each.offset, each.value) for each in part.records()] == [(1, b"b"), (2, b"c")]
    part.hold_back(2)
    assert (part.end, part.high_watermark) == (3, 2)


def test_a_partition_moves_with_a_new_epoch(broker: InProcessBroker) -> None:
    part = broker.partition("orders")
    leader, epoch = part.leader, part.epoch
    assert leader is not None
    part.move_to(3 - leader)
    assert (part.leader, part.epoch) == (3 - leader, epoch + 1)
    part.move_to(None)
    with pytest.raises(ValueError, match="nobody leads orders-0"):
        part.append("a")


def test_mistakes_are_named(broker: InProcessBroker) -> None:
    with pytest.raises(ValueError, match=r"no partition orders-7; .*'orders': 2"):
        broker.partition("orders", 7)
    with pytest.raises(ValueError, match="no broker 3; there are 1 to 2"):
        broker.node(3)
    with pytest.raises(ValueError, match="at least one value"):
        broker.partition("orders").append()


def test_topics_come_and_go(broker: InProcessBroker) -> None:
    broker.create_topic("new", 1, configs={"cleanup.policy": "compact"})
    broker.add_partitions("new", 3)
    assert broker.partition("new", 2).end == 0
    broker.delete_topic("new")
    with pytest.raises(ValueError, match="no partition new-0"):
        broker.partition("new")


# -- brokers and the cluster -------------------------------------------------------------------


def test_a_broker_whose_clock_is_wrong_stamps_what_it_appends(broker: InProcessBroker) -> None:
    part = broker.partition("orders")
    assert part.leader is not None
    broker.node(part.leader).skew(60)
    part.append("late")
    assert part.records()[0].timestamp == int((WALL_AT_START + 60) * 1000)


async def test_clients_see_the_racks_of_brokers(broker: InProcessBroker) -> None:
    async with consumer(broker, "A") as member:
        await read_for(1, member)
    assert [each.rack for each in broker.core.cluster.nodes.values()] == ["east", "west"]
    assert {arrival.client_id for arrival in broker.requests} == {"A"}
    assert len(broker.requests_of(JoinGroupRequest)) == 2


async def test_a_copy_of_the_cluster_lives_its_own_life(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(1, member)
        twin = copy.deepcopy(broker.core)
        twin.context.agenda.run(100)
        shard = twin.coordinators.shard_of("g")
        assert shard.groups["g"].phase.value == "Empty"
        assert group.state == "Stable"


async def test_two_loops_may_follow_each_other(broker: InProcessBroker) -> None:
    async with consumer(broker, "A") as member:
        await read_for(8, member)
    assert broker.core.context.agenda.now == pytest.approx(8, abs=1)
    beats = len(broker.requests_of(HeartbeatRequest))

    async def again() -> None:
        async with consumer(broker, "B") as member:
            await read_for(8, member)

    name, options = virtual_backend("asyncio")
    await anyio.to_thread.run_sync(
        lambda: anyio.run(again, backend=name, backend_options=dict(options))
    )
    assert broker.core.context.agenda.now == pytest.approx(16, abs=1)
    assert len(broker.requests_of(HeartbeatRequest)) == pytest.approx(2 * beats, abs=2)


def test_the_same_seed_mints_the_same_names() -> None:
    def minted(seed: int) -> bytes:
        return InProcessBroker(topics={"t": 1}, seed=seed).core.cluster.topics["t"].topic_id

    assert minted(1) == minted(1) != minted(2)


def test_a_release_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match=r"'1\.0'"):
        InProcessBroker(release="1.0")


def test_settings_are_those_of_every_broker() -> None:
    settings = BrokerSettings(max_message_bytes=100)
    part = InProcessBroker(topics={"t": 1}, settings=settings).partition("t")
    with pytest.raises(ValueError, match="MESSAGE_TOO_LARGE"):
        part.append("x" * 200)


async def test_a_member_goes_on_while_its_coordinator_loads(broker: InProcessBroker) -> None:
    group = broker.group("g")
    async with consumer(broker, "A") as member:
        await read_for(1, member)
        group.load(5)
        assert group.state == "Dead"
        await read_for(10, member)
        assert (group.state, group.generation) == ("Stable", 1)
