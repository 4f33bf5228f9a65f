"""What a group of kgroup consumers promises, on a real broker: nothing lost, doubled or held up."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Batch
from kgroup.errors import ClosedError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, TopicPartition
from tests.real.ground import Ground, eventually, lay_ground
from tests.real.members import Group, Member, group_on

pytestmark = pytest.mark.real


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "range"])
async def test_ten_thousand_records_survive_a_member_that_joins_and_one_that_leaves(
    kafka: RealKafka, tmp_path: Path, assignor: str
) -> None:
    ground = await lay_ground(kafka, 12)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        first, *_ = [await group.join(label) for label in ("m1", "m2", "m3")]
        await group.settled(4, 4, 4)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write_in_slices, ground)
            await everybody_reads(group)
            await group.join("m4")
            await group.settled(3, 3, 3, 3)
            await everybody_reads(group)
            await group.leave(first)
            await group.settled(4, 4, 4)
            await everybody_reads(group)
            await eventually(lambda: len(ground.expected()) >= 10_000, "enough is written")
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read(first)
        await group.end()
    total = (await group.verdict()).total
    assert (total.lost, total.duplicated, total.out_of_order) == (0, 0, 0)
    assert total.records == len(ground.expected())


async def write_in_slices(ground: Ground) -> None:
    while True:
        ground.write(12)
        await anyio.sleep(0.03)


async def everybody_reads(group: Group) -> None:
    """Wait until each member has read something that was written from now on."""
    before = {member: len(member.reads) for member in group.members}
    await eventually(
        lambda: all(len(member.reads) > count for member, count in before.items()),
        "everybody reads",
    )


async def test_nobody_waits_for_another_members_batch_but_for_its_partition(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(10)
    async with group_on(ground, tmp_path, max_poll_interval=30.0) as group:
        desk = Desk()
        first = await group.join("first", desk.work)
        await eventually(lambda: desk.held.keys() == ground.all_partitions, "all are in hand")
        second = await group.join("second")
        moving = await asked_to_give_up(first, 3)
        assert not second.owned
        late = min(moving)
        for tp in ground.all_partitions - {late}:
            desk.held[tp].done()
        await eventually(lambda: second.owned == moving - {late}, "what is done has moved")
        await both_read(group, ground, desk, late)
        assert late in first.owned
        desk.held[late].done()
        await group.settled(3, 3)
        assert second.owned == moving
        desk.hold = False
        await ground.fill(5)
        await group.all_read()
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


class Desk:
    """Work of a member that keeps one batch of each partition in hand until told otherwise."""

    def __init__(self) -> None:
        self.hold = True
        self.held: dict[TopicPartition, Batch[Any, Any]] = {}

    async def work(self, member: Member) -> None:
        with suppress(ClosedError):
            while True:
                await self._turn(member)

    async def _turn(self, member: Member) -> None:
        """Read what nothing is in hand of: a read finishes what was lent of what it asks for."""
        free = [tp for tp in member.owned if not self._busy(tp)]
        if not free:
            await anyio.sleep(0.02)
            return
        found = await member.consumer.getmany(*free, timeout=0.1)
        for tp, batch in found.items():
            member.take(batch)
            if self.hold and tp not in self.held:
                self.held[tp] = batch
            else:
                batch.done()

    def _busy(self, tp: TopicPartition) -> bool:
        return tp in self.held and self.held[tp].in_hand


async def asked_to_give_up(member: Member, count: int) -> frozenset[TopicPartition]:
    """Wait until so many partitions of a member are about to be given up."""
    await eventually(
        lambda: len(member.consumer.membership.draining) == count, f"{count} are draining"
    )
    return member.consumer.membership.draining


async def both_read(group: Group, ground: Ground, desk: Desk, late: TopicPartition) -> None:
    """Both members go on with what they have, while one batch stays in hand."""
    numbers = [tp.partition for tp in ground.all_partitions - {late}]
    before = {member: len(member.reads) for member in group.members}
    await ground.fill(5, partitions=numbers)
    await eventually(
        lambda: sum(len(member.reads) - before[member] for member in group.members) == 25,
        "both go on reading",
    )
    assert desk.held[late].in_hand
    assert all(len(member.reads) > before[member] for member in group.members)


async def test_a_member_that_does_not_poll_leaves_and_comes_back_by_reading(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    await ground.fill(10)
    async with group_on(ground, tmp_path, max_poll_interval=2.0) as group:
        pause = Pause()
        slow = await group.join("slow", pause.work)
        await group.settled(4)
        quick = await group.join("quick")
        await group.settled(2, 2)
        held = slow.owned
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.stream)
            pause.begin()
            await eventually(lambda: quick.owned == ground.all_partitions, "the other owns all")
            await eventually(lambda: not slow.owned, "nothing is left to the slow one")
            pause.end()
            await group.settled(2, 2)
            tasks.cancel_scope.cancel()
        await ground.stored()
        await group.all_read()
        await group.end()
    assert slow.heard(ChangeKind.LOST) | slow.heard(ChangeKind.REVOKED) >= held
    await group.verdict()


class Pause:
    """Work of a member that stops asking for records while told so."""

    def __init__(self) -> None:
        self._go = anyio.Event()
        self._go.set()

    def begin(self) -> None:
        self._go = anyio.Event()

    def end(self) -> None:
        self._go.set()

    async def work(self, member: Member) -> None:
        async for batch in member.consumer.batches():
            member.take(batch)
            batch.done()
            await self._go.wait()


async def test_new_partitions_of_a_topic_are_shared_out_and_read(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 2)
    await ground.fill(5)
    async with group_on(ground, tmp_path, metadata_max_age=0.5) as group:
        for label in ("m1", "m2"):
            await group.join(label)
        await group.settled(1, 1)
        await ground.widen(6)
        await group.settled(3, 3)
        await ground.fill(5)
        await group.all_read()
        await group.end()
    assert (await group.verdict()).total.duplicated == 0
