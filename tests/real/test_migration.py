"""From eager to cooperative with a group that never stops: two rolling restarts, on real brokers.

Sources: KIP-429, "Compatibility, Deprecation, and Migration Plan"; of static members KIP-345.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from kgroup.audit import Verdict
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, OffsetAndMetadata, OwnershipChange
from tests.real.ground import Ground, describe, eventually, lay_ground
from tests.real.members import CROSSED, Group, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]


COOPERATIVE = "cooperative-sticky"
STANDSTILL = 3.0
"""Seconds without a record that a partition may have around a restart; they come every 50 ms, and
members hear of a round by a heartbeat every 300 ms. It is half of a session."""


@asynccontextmanager
async def flowing(ground: Ground) -> AsyncIterator[None]:
    """Have records written to every partition throughout a block; all are stored at its end."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ground.stream)
        yield
        tasks.cancel_scope.cancel()
    await ground.stored()


async def commit_what_goes(member: Member, change: OwnershipChange) -> None:
    """Commit how far each partition that is revoked was read: an application's `on_revoked`."""
    ends = {read.tp: OffsetAndMetadata(read.offset + 1) for read in member.reads}
    going = {claim.tp: ends[claim.tp] for claim in change.removed if claim.tp in ends}
    if going:
        assert (await member.consumer.commit(going)).ok


async def enter(group: Group, label: str, *assignors: str) -> Member:
    """Have a member join that commits in `on_revoked`."""
    member = await group.join(label, assignors=assignors)
    member.on_revoking = partial(commit_what_goes, member)
    return member


async def assignor_in_use(group: Group) -> str:
    """Ask the coordinator for it."""
    found = await anyio.to_thread.run_sync(describe, group.ground.kafka, group.name)
    assert found.group_state == "Stable"
    return found.protocol_data


async def bounce(group: Group, step: int, *assignors: str) -> list[str]:
    """Restart the members one by one with other assignors; return which was in use after each."""
    in_use = []
    for old in tuple(group.members):
        await group.leave(old)
        new = await enter(group, f"{old.label[0]}{step}", *assignors)
        await group.settled(2, 2, 2)
        await eventually(lambda: new.reads, f"{new.label} reads")  # noqa: B023
        in_use.append(await assignor_in_use(group))
    return in_use


async def judged(group: Group, gone: list[Member]) -> Verdict:
    """End the group; nothing may be lost, come twice, or have stood still."""
    await group.all_read(*gone)
    await group.end()
    found = await group.verdict()
    total = found.total
    assert (total.lost, total.duplicated, total.out_of_order, total.two_owners) == (0, 0, 0, 0)
    assert max(row.silence or 0.0 for row in found.partitions) < STANDSTILL
    return found


@pytest.mark.parametrize(
    ("kafka", "eager", "old_first", "anyio_backend"),
    [
        ("4.3.1", "range", True, "asyncio"),
        ("3.9.1", "sticky", True, "trio"),
        ("4.3.1", "roundrobin", False, "trio"),
    ],
    indirect=["kafka"],
)
async def test_a_group_goes_from_eager_to_cooperative_while_records_flow(
    kafka: RealKafka, tmp_path: Path, eager: str, old_first: bool
) -> None:
    """KIP-429: the first restart offers both assignors and stays eager, the second drops the old.

    With the old one first, as is advised, the group goes on with it until a member drops it.

    A member that commits in `on_revoked` gets each record once; nothing is lost, and no partition
    stands still for longer than one round takes.
    """
    ground = await lay_ground(kafka, 6)
    gone: list[Member] = []
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        async with flowing(ground):
            for label in ("a0", "b0", "c0"):
                await enter(group, label, eager)
            await group.settled(2, 2, 2)
            gone += group.members
            both = (eager, COOPERATIVE) if old_first else (COOPERATIVE, eager)
            # As soon as all offer both, all vote for the one they name first.
            assert await bounce(group, 1, *both) == [eager, eager, both[0]]
            gone += group.members
            assert await bounce(group, 2, COOPERATIVE) == [COOPERATIVE] * 3
            await only_what_moves_is_revoked(group)
        await judged(group, gone)


async def only_what_moves_is_revoked(group: Group) -> None:
    """Have one more member join: the others keep what they keep, without a break."""
    await group.steady()
    before = {each: frozenset(each.consumer.membership.claims) for each in group.members}
    known = {each: len(each.changes) for each in group.members}
    new = await enter(group, "d", COOPERATIVE)
    await group.settled(1, 1, 2, 2)
    for each, claims in before.items():
        assert frozenset(each.consumer.membership.claims) <= claims
        revoked = [c.tp for change in each.changes[known[each] :] for c in change.removed]
        assert set(revoked) == {claim.tp for claim in claims} & new.owned
    assert all(each.took(ChangeKind.LOST) == [] for each in group.members)


@CROSSED
async def test_static_members_change_over_with_a_single_round(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """KIP-345, KIP-429: a static member that returns begins no round, whatever it offers now; the
    one round is that in which the group's choice changes."""
    ground = await lay_ground(kafka, 6)
    gone: list[Member] = []
    async with group_on(ground, tmp_path, enable_auto_commit=False) as group:
        async with flowing(ground):
            for name in ("a", "b", "c"):
                await enter_static(group, name, 0, "range")
            await group.settled(2, 2, 2)
            await group.steady()
            first = group.members[0].generation_id
            assert first is not None
            gone += group.members
            assert await bounce_static(group, 1, "range", COOPERATIVE) == [first] * 3
            gone += group.members
            assert await bounce_static(group, 2, COOPERATIVE) == [first + 1] * 3
            assert await assignor_in_use(group) == COOPERATIVE
        await judged(group, gone)


async def bounce_static(group: Group, step: int, *assignors: str) -> list[int | None]:
    """Restart the members as the same static members; return the generation after each."""
    generations = []
    for old in tuple(group.members):
        await group.leave(old)
        new = await enter_static(group, old.label[0], step, *assignors)
        await group.settled(2, 2, 2)
        await eventually(lambda: new.reads, f"{new.label} reads")  # noqa: B023
        generations.append(new.generation_id)
    return generations


async def enter_static(group: Group, name: str, step: int, *assignors: str) -> Member:
    label = f"{name}{step}"
    member = await group.join(label, assignors=assignors, group_instance_id=name)
    member.on_revoking = partial(commit_what_goes, member)
    return member


@CROSSED
async def test_a_newcomer_without_a_common_assignor_is_refused_and_nothing_else_happens(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """A single bounce: INCONSISTENT_GROUP_PROTOCOL ends the newcomer; the others do not notice."""
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path, assignors=("range",)) as group:
        old = [await group.join("worker-1"), await group.join("worker-2")]
        await group.settled(2, 2)
        await group.steady()
        before = [(each.consumer.membership, len(each.changes)) for each in old]
        new = await group.join("newcomer", assignors=(COOPERATIVE,))
        await eventually(lambda: new.failure, "the newcomer fails")
        group.members.remove(new)
        text = str(new.failure)
        assert isinstance(new.failure, BrokerError)
        assert new.failure.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert f"group {group.name!r}" in text
        assert f"which offers ['{COOPERATIVE}']" in text
        assert "'range' is in use by 2 members (client ids: worker-1, worker-2)" in text
        assert f"with ['range', '{COOPERATIVE}']" in text
        await ground.fill(20)
        await group.all_read()
        await anyio.sleep(1.0)
        assert [(each.consumer.membership, len(each.changes)) for each in old] == before
        await group.end()


# -- votes ----------------------------------------------------------------------------------------
#
# Which assignor a group uses when its members offer several: on real brokers.
#
# The coordinator asks each member's list for the first name that all members have, and takes the
# name with most votes. Which of two with equally many it takes differs between Kafka's
# coordinators (the order of a hash table), so no client may rely on it. A member follows the
# highest protocol that all assignors of its own list support, whatever is chosen (KIP-429).


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
    """Of what all offer, each votes for what it names first; outvoted members work all the same."""
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
    is owned by both, under either leader.
    """
    lists = {"eager": (COOPERATIVE, "range"), "cooperative": (COOPERATIVE,)}
    (other,) = lists.keys() - {leader}
    ground = await lay_ground(kafka, 6)
    async with group_on(ground, tmp_path) as group:
        members = {leader: await group.join(leader, assignors=lists[leader])}
        await group.settled(6)  # the first member leads
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
