"""A leader watches the racks of replicas that matter to members (KIP-881)."""

from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.types import Cause
from kgroup.wire.messages import MetadataRequest, MetadataResponse
from kgroup.wire.schema import replace as replace_fields
from tests.consumer.foreign import Foreign
from tests.consumer.scene import Member, Scene, claims_of, partitions, scene, settings
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

AGE = 1.0
RACKS = {1: "a", 2: "b", 3: "nobody's", 4: "nobody's either"}

Move = Callable[[Scene], None]


async def settled(on: Scene, *racks: str | None) -> list[Member]:
    """Have one member in each rack, the first of them leading; each broker has its own."""
    give_racks(on)
    members = [await on.joined(settings("range", client_rack=racks[0]))]
    for rack in racks[1:]:
        members.append(await on.member(settings("range", client_rack=rack)))
    share = 4 // len(racks)
    await until(
        lambda: [len(claims_of(each)) for each in members] == [share] * len(racks), 60.0, "settled"
    )
    await anyio.sleep(3 * AGE)
    return members


def give_racks(on: Scene) -> None:
    for node in on.broker.core.cluster.nodes.values():
        node.rack = RACKS[node.node_id]


def place(on: Scene, number: int, *replicas: int) -> None:
    partition = on.broker.core.cluster.topics["t"].partitions[number]
    partition.leader, partition.replicas, partition.isr = replicas[0], replicas, replicas
    partition.epoch += 1


async def rounds_after(on: Scene, leader: Member, move: Move) -> int:
    before = leader.backend.membership.rebalances
    move(on)
    await anyio.sleep(3 * AGE)
    return leader.backend.membership.rebalances - before


async def test_a_replica_that_moves_to_another_members_rack_begins_one_round() -> None:
    async with scene(4, metadata_max_age=AGE) as on:
        for number, node in enumerate((1, 2, 1, 2)):
            place(on, number, node)
        first, second = await settled(on, "a", "b")
        assert claims_of(first) == partitions(0, 2)
        assert await rounds_after(on, first, trade_places) == 1
        assert (claims_of(first), claims_of(second)) == (partitions(1, 2), partitions(0, 3))
        assert first.backend.membership.cause is Cause.TOPICS_CHANGED


def trade_places(on: Scene) -> None:
    place(on, 0, 2)
    place(on, 1, 1)


def move_between_racks_of_nobody(on: Scene) -> None:
    place(on, 3, 4)


def elect_another_leader(on: Scene) -> None:
    on.broker.partition("t", 0).move_to(2)


def lose_sight_of_a_broker(on: Scene) -> None:
    def shortened(_request: MetadataRequest, answer: MetadataResponse) -> MetadataResponse:
        brokers = tuple(row for row in answer.brokers if row.node_id != 2)
        return replace_fields(answer, brokers=brokers)

    on.answers.rewrite(MetadataRequest, shortened, times=None)


@pytest.mark.parametrize(
    "move", [move_between_racks_of_nobody, elect_another_leader, lose_sight_of_a_broker]
)
async def test_a_move_that_changes_no_members_rack_begins_no_round(move: Move) -> None:
    async with scene(4, metadata_max_age=AGE) as on:
        for number, nodes in enumerate(((1, 2), (2, 1), (1, 2), (3,))):
            place(on, number, *nodes)
        first, _ = await settled(on, "a", "b")
        assert await rounds_after(on, first, move) == 0


async def test_in_a_group_without_racks_replicas_may_go_anywhere() -> None:
    async with scene(4, metadata_max_age=AGE) as on:
        (member,) = await settled(on, None)
        assert await rounds_after(on, member, trade_places) == 0


async def test_a_leader_without_a_rack_watches_for_members_with_one() -> None:
    async with scene(4, metadata_max_age=AGE) as on:
        for number, node in enumerate((1, 2, 1, 2)):
            place(on, number, node)
        first, _ = await settled(on, None, "b")
        assert await rounds_after(on, first, trade_places) == 1


async def test_a_replica_that_moves_while_the_group_is_divided_is_not_missed() -> None:
    """1. The assignor runs on the old view; 2. the view changes; 3. the assignor returns."""
    moved = False

    def divide(group: GroupSubscription) -> GroupAssignment:
        nonlocal moved
        if len(group.members) == 2 and not moved:
            moved = True
            trade_places(on)
            on_view_change()
        return BUILT_IN["range"].assign(group)

    async with scene(4, metadata_max_age=AGE) as on:
        for number, node in enumerate((1, 2, 1, 2)):
            place(on, number, node)
        give_racks(on)
        own = replace(settings(client_rack="a"), assignors=(Foreign(divide),))
        first = await on.joined(own)
        on_view_change = first.cluster.invalidate
        second = await on.member(replace(own, client_rack="b"))
        near = partitions(1, 2), partitions(0, 3)
        await until(lambda: (claims_of(first), claims_of(second)) == near, 60.0, "near again")
