"""What a group of kgroup consumers promises, on a real broker: nothing lost, doubled or held up."""

import errno
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup import Batch, Consumer
from kgroup.errors import ClosedError, NoBrokerError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind, TopicPartition
from tests.real.ground import Ground, committed, describe, eventually, lay_ground
from tests.real.members import Group, Member, group_on


@pytest.mark.real
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


@pytest.mark.real
async def test_nobody_waits_for_another_members_batch_but_for_its_partition(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 6)
    await ground.fill(10)
    async with group_on(ground, tmp_path, max_poll_interval=30.0) as group:
        keeper = Keeper()
        first = await group.join("first", keeper.work)
        await eventually(lambda: keeper.held.keys() == ground.all_partitions, "all are in hand")
        second = await group.join("second")
        moving = await asked_to_give_up(first, 3)
        assert not second.owned
        late = min(moving)
        for tp in ground.all_partitions - {late}:
            keeper.held[tp].done()
        await eventually(lambda: second.owned == moving - {late}, "what is done has moved")
        await both_read(group, ground, keeper, late)
        assert late in first.owned
        keeper.held[late].done()
        await group.settled(3, 3)
        assert second.owned == moving
        keeper.hold = False
        await ground.fill(5)
        await group.all_read()
        await group.end()
    assert (await group.verdict()).total.duplicated == 0


class Keeper:
    """Work of a member that keeps one batch of each partition in hand until asked otherwise."""

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


async def both_read(group: Group, ground: Ground, keeper: Keeper, late: TopicPartition) -> None:
    """Both members go on with what they have, while one batch stays in hand."""
    numbers = [tp.partition for tp in ground.all_partitions - {late}]
    before = {member: len(member.reads) for member in group.members}
    await ground.fill(5, partitions=numbers)
    await eventually(
        lambda: sum(len(member.reads) - before[member] for member in group.members) == 25,
        "both go on reading",
    )
    assert keeper.held[late].in_hand
    assert all(len(member.reads) > before[member] for member in group.members)


@pytest.mark.real
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
    """Work of a member that stops asking for records while asked to."""

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


@pytest.mark.real
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


# -- versions -------------------------------------------------------------------------------------
#
# A basic group on every version of Kafka that is claimed to be supported.


@pytest.fixture(params=["kafka_391", "kafka"])
def broker(request: pytest.FixtureRequest) -> RealKafka:
    """One node of each version: the old and the new group coordinator."""
    found: RealKafka = request.getfixturevalue(request.param)
    return found


@pytest.mark.real
@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
async def test_two_members_join_consume_commit_hand_over_and_close(
    broker: RealKafka, tmp_path: Path, assignor: str
) -> None:
    ground = await lay_ground(broker, 4)
    await ground.fill(25)
    async with group_on(ground, tmp_path, assignors=(assignor,)) as group:
        first = await group.join("first")
        await group.settled(4)
        second = await group.join("second")
        await group.settled(2, 2)
        await ground.fill(25)
        await group.all_read()
        await first.commit_reads()
        await group.leave(first)
        await group.settled(4)
        await ground.fill(25)
        await group.all_read(first)
        await group.end()
    assert await anyio.to_thread.run_sync(committed, broker, group.name) == ground.sent
    assert (await anyio.to_thread.run_sync(describe, broker, group.name)).group_state == "Empty"
    assert len(second.heard(ChangeKind.ASSIGNED)) == 4
    verdict = await group.verdict()
    assert verdict.total.duplicated == 0


# -- no broker ------------------------------------------------------------------------------------
#
# No broker answers: the error comes in time and says of every address what is wrong with it.


TIMEOUT = 1.0
"""Shorter than the time after which a second address is asked when no call is in a hurry (2 s)."""


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address where no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
async def test_the_error_names_every_address_that_was_tried_in_time(
    silent: str, closed: str
) -> None:
    consumer = Consumer(
        "orders",
        group_id="billing",
        bootstrap_servers=[silent, closed],
        bootstrap_timeout=TIMEOUT,
    )
    began = time.monotonic()
    with pytest.raises(NoBrokerError) as caught:
        async with consumer:
            pass
    took = time.monotonic() - began
    assert took < TIMEOUT + 0.5, f"{took:.2f} s for a bootstrap_timeout of {TIMEOUT} s"
    assert caught.value.tried.keys() == {silent, closed}
    assert str(errno.ECONNREFUSED) in caught.value.tried[closed]
    assert all(address in str(caught.value) for address in (silent, closed))
