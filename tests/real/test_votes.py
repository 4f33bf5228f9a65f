"""Which assignor a group uses when its members offer several: on real brokers.

The coordinator asks each member's list for the first name that all members have, and takes the
name with most votes. Which of two with equally many it takes differs between Kafka's coordinators
(the order of a hash table), so no client may rely on it. A member follows the highest protocol
that all assignors of its own list support, whatever is chosen (KIP-429).
"""

from pathlib import Path

import anyio
import pytest

from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.ground import describe, eventually, lay_ground
from tests.real.members import CROSSED, Group, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

COOPERATIVE = "cooperative-sticky"


async def chosen(group: Group, *sizes: int) -> str:
    """Return the assignor in use once all own so many partitions; everybody must name it."""
    await group.settled(*sizes)
    found = await anyio.to_thread.run_sync(describe, group.ground.kafka, group.name)
    named = {member.consumer.membership.assignor for member in group.members}
    assert named == {found.protocol_data}
    return found.protocol_data


@CROSSED
async def test_the_common_assignor_with_most_votes_is_used_by_all(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Of what all offer, each votes for what it names first; who is outvoted works all the same."""
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        await group.join("m1", assignors=("range", "roundrobin", "sticky"))
        assert await chosen(group, 6) == "range"
        await group.join("m2", assignors=("sticky", "roundrobin"))
        assert await chosen(group, 3, 3) in ("roundrobin", "sticky")
        await group.join("m3", assignors=("roundrobin", "sticky"))
        assert await chosen(group, 2, 2, 2) == "roundrobin"
        await ground.fill(10)
        await group.all_read()
        await group.join("m4", assignors=("sticky", "roundrobin"))
        assert await chosen(group, 1, 1, 2, 2) in ("roundrobin", "sticky")
        last = await group.join("m5", assignors=("sticky", "roundrobin"))
        assert await chosen(group, 1, 1, 1, 1, 2) == "sticky"
        await ground.fill(10)
        await group.all_read()
        assert last.reads
        assert len({member.consumer.membership.leader for member in group.members}) == 2
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated) == (0, 0)


@pytest.mark.parametrize(
    ("kafka", "leader", "anyio_backend"),
    [("4.3.1", "eager", "asyncio"), ("3.9.1", "cooperative", "trio")],
    indirect=["kafka"],
)
async def test_a_member_with_an_eager_assignor_in_its_list_is_eager_among_cooperative_ones(
    kafka: RealKafka, tmp_path: Path, leader: str
) -> None:
    """KIP-429, in the middle of the second restart: one lists both, one only the cooperative one.

    In each round the one hands everything back, the other keeps what it keeps, and no partition
    is owned by both, whoever leads.
    """
    lists = {"eager": (COOPERATIVE, "range"), "cooperative": (COOPERATIVE,)}
    (other,) = lists.keys() - {leader}
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        members = {leader: await group.join(leader, assignors=lists[leader])}
        await group.settled(6)  # who comes first leads
        members[other] = await group.join(other, assignors=lists[other])
        assert await chosen(group, 3, 3) == COOPERATIVE
        await group.steady()
        assert members[leader].consumer.membership.leader
        before = {name: member.owned for name, member in members.items()}
        revoked = {name: revocations(member) for name, member in members.items()}
        members[leader].consumer.enforce_rebalance("the test wants a round")
        await eventually(lambda: revocations(members["eager"]) > revoked["eager"], "a round")
        await group.settled(3, 3)
        await group.steady()
        assert {name: member.owned for name, member in members.items()} == before
        assert revocations(members["cooperative"]) == revoked["cooperative"]
        await ground.fill(10)
        await group.all_read()
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.two_owners) == (0, 0)


def revocations(member: Member) -> int:
    """Count the partitions it was asked to give back so far."""
    return sum(len(c.removed) for c in member.changes if c.kind is ChangeKind.REVOKED)
