"""A live group moves from the classic protocol to KIP-848 and back, member by member, under load.

While it lasts the group has members of both kinds: the coordinator assigns to all of them, and
nobody of the classic ones leads. The audit judges the logs of all members together.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.admin.groups import group_lag
from kgroup.admin.moving import obstacles_to_moving
from kgroup.admin.obstacles import Obstacle, Weight
from kgroup.admin.offers import GroupOffers, describe_offers
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import GroupType
from kgroup.net.ports import system_ports
from kgroup.net.settings import NetSettings
from kgroup.testing.kafka import RealKafka
from kgroup.testing.kafka.in_process import STAND_IN
from kgroup.testing.kafka.ready import parse_bootstrap
from kgroup.types import MemberState
from tests.real.consumer_groups import CONSUMER, tune
from tests.real.ground import eventually, lay_ground
from tests.real.members import FAST, Group, Member, group_on
from tests.real.tuned import tuned

pytestmark = pytest.mark.real

CLASSIC: dict[str, Any] = {
    name: FAST[name] for name in ("session_timeout", "heartbeat_interval")
} | {"group_protocol": "classic"}


async def all_shared(group: Group) -> None:
    """Wait until all members are stable and have everything between them, as even as can be."""
    least = group.ground.partitions // len(group.members)

    def is_so() -> bool:
        owned = [member.owned for member in group.members]
        return (
            sum(map(len, owned)) == group.ground.partitions
            and frozenset().union(*owned) == group.ground.all_partitions
            and min(map(len, owned)) >= least
            and all(member.is_in(MemberState.STABLE) for member in group.members)
        )

    try:
        await eventually(is_so, "the group shares everything")
    except TimeoutError as error:
        states = [f"{m.label}: {m.consumer.membership} {m.failure}" for m in group.members]
        error.add_note("\n".join(states))
        raise


async def asked_about(kafka: RealKafka, group: str) -> GroupOffers:
    """Ask for a group as a client that is no member; its lag can be told while it is mixed."""
    settings = NetSettings(bootstrap=tuple(parse_bootstrap(kafka.bootstrap)), client_id="admin")
    cluster = Cluster(settings, system_ports())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cluster.run)
        await cluster.bootstrap(10.0)
        found = await describe_offers(cluster, group, timeout=10.0)
        lag = await group_lag(cluster, group, timeout=10.0)
        owners = {row.owner.member_id for row in lag.partitions if row.owner is not None}
        assert owners == {each.member.member_id for each in found.members}
        tasks.cancel_scope.cancel()
    return found


def blocks(found: GroupOffers) -> list[Obstacle]:
    """Return what stands in the way of members of the other protocol."""
    return [each for each in obstacles_to_moving(found) if each.weight is Weight.BLOCKS]


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
async def test_a_live_group_moves_to_the_other_protocol_and_back(
    kafka: RealKafka, tmp_path: Path, assignor: str
) -> None:
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        tune(kafka, group.name)
        classic = {**CLASSIC, "assignors": (assignor,)}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            for label in ("old-1", "old-2"):
                await group.join(label, **classic)
            await all_shared(group)
            read = [*group.members]
            assert blocks(await asked_about(kafka, group.name)) == []
            for label, classic_ones in (("new-1", 1), ("new-2", 0)):
                await group.leave(group.members[0])
                read.append(await group.join(label, **CONSUMER))
                await all_shared(group)
                found = await asked_about(kafka, group.name)
                assert found.group.group_type is GroupType.CONSUMER
                kinds = [each.member.is_classic for each in found.members]
                assert (kinds.count(True), len(kinds)) == (classic_ones, 2)
                assert blocks(found) == []
            for label in ("back-1", "back-2"):
                await group.leave(group.members[0])
                read.append(await group.join(label, **classic))
                await all_shared(group)
            found = await asked_about(kafka, group.name)
            assert found.group.group_type is GroupType.CLASSIC
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(*read)
    verdict = await group.verdict()
    assert (verdict.total.lost, verdict.total.two_owners) == (0, 0)
    assert [each.failure for each in read] == [None] * len(read)


# -- a broker that lets nobody in ------------------------------------------------------------------


@pytest.fixture(scope="module")
def closed(kafka: RealKafka) -> Iterator[RealKafka]:
    """Start a broker on which no group with members changes its protocol."""
    closed = replace(STAND_IN, consumer_migration=False)
    with tuned(kafka, closed, {"group.consumer.migration.policy": "disabled"}) as started:
        yield started


def why_refused(member: Member) -> BrokerError:
    """Return the error a member has ended with."""
    assert isinstance(member.failure, BrokerError)
    return member.failure


@pytest.mark.parametrize(
    ("there", "newcomer", "code", "way_out"),
    [
        pytest.param(
            CLASSIC,
            CONSUMER,
            ErrorCode.GROUP_ID_NOT_FOUND,
            "online upgrade is disabled; its members speak the classic protocol",
            id="to consumer",
        ),
        pytest.param(
            CONSUMER,
            CLASSIC,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            "set group_protocol='consumer'",
            id="to classic",
        ),
    ],
)
async def test_with_migration_disabled_a_newcomer_of_the_other_protocol_is_told_the_way_out(
    closed: RealKafka,
    tmp_path: Path,
    there: dict[str, Any],
    newcomer: dict[str, Any],
    code: ErrorCode,
    way_out: str,
) -> None:
    ground = await lay_ground(closed, 2)
    await ground.fill(5)
    async with group_on(ground, tmp_path) as group:
        staying = await group.join("staying", **there)
        await all_shared(group)
        refused = await group.join("refused", **newcomer)
        await refused.finished.wait()
        group.members.remove(refused)
        error = why_refused(refused)
        assert error.code == code
        assert way_out in str(error)
        assert "group.consumer.migration.policy" in str(error)
        await group.all_read()
        assert len(staying.changes) == 1
