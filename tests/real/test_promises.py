"""Promises of the public surface that no other test makes good on a real Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import anyio
import confluent_kafka
import pytest
from confluent_kafka import Producer

from kgroup import Cause, Consumer
from kgroup.assignors import GroupAssignment, GroupSubscription, RebalanceProtocol
from kgroup.journal import Delivered, OwnershipStep
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.child import Child, child
from tests.real.ground import Ground, eventually, fresh, lay_ground, value_at
from tests.real.members import group_on

pytestmark = pytest.mark.real


async def test_a_round_the_application_asks_for_is_carried_out(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 4)
    async with group_on(ground, tmp_path) as group:
        first, second = await group.join("first"), await group.join("second")
        await group.settled(2, 2)
        await group.steady()
        owned, before = (first.owned, second.owned), second.generation_id
        first.consumer.enforce_rebalance("the test asks for it")
        await eventually(lambda: second.generation_id != before, "both are in a new generation")
        await group.settled(2, 2)
        assert first.consumer.membership.cause is Cause.ENFORCED
        assert (first.owned, second.owned) == owned


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_every_codec_of_another_client_is_read(kafka: RealKafka, codec: str) -> None:
    ground = await lay_ground(kafka, 1)
    tp = ground.tp(0)
    ground.producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "compression.codec": codec, "linger.ms": 50}
    )
    await ground.fill(500)
    got: list[bytes | None] = []
    async with Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as reader:
        reader.assign([tp])
        while len(got) < 500:
            for batch in (await reader.getmany(timeout=5)).values():
                got += batch.values()
    assert got == [value_at(tp, offset) for offset in range(500)]


async def test_arrow_tables_hold_what_another_client_produced(kafka: RealKafka) -> None:
    ground = await lay_ground(kafka, 1)
    tp = ground.tp(0)
    await ground.fill(500)
    offsets: list[int] = []
    got: list[bytes | None] = []
    async with Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as reader:
        reader.assign([tp])
        async for table in reader.arrow_batches():
            offsets += table.column("offset").to_pylist()
            got += table.column("value").to_pylist()
            if len(got) >= 500:
                break
    assert offsets == [*range(500)]
    assert got == [value_at(tp, offset) for offset in range(500)]


@contextmanager
def open_commit(ground: Ground, group: str, offset: int) -> Iterator[Producer]:
    """Commit an offset for a group in a transaction that the block ends."""
    address = {"bootstrap.servers": ground.kafka.bootstrap}
    producer = Producer({**address, "transactional.id": fresh("txn")})
    # Only its name of the group is used; it never joins.
    named = confluent_kafka.Consumer({**address, "group.id": group})
    producer.init_transactions()
    producer.begin_transaction()
    place = confluent_kafka.TopicPartition(ground.topic, 0, offset)
    producer.send_offsets_to_transaction([place], named.consumer_group_metadata())
    producer.flush()
    yield producer
    named.close()


async def test_an_offset_that_an_open_transaction_commits_is_waited_for(kafka: RealKafka) -> None:
    ground, group = await lay_ground(kafka, 1), fresh("group")
    tp = ground.tp(0)
    await ground.fill(5)
    async with Consumer(
        bootstrap_servers=kafka.bootstrap, group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([tp])
        with open_commit(ground, group, 3) as producer:
            with pytest.raises(TimeoutError):
                await consumer.getone(timeout=1.5)
            await anyio.to_thread.run_sync(producer.commit_transaction)
            record = await consumer.getone(timeout=10)
        assert record.offset == 3


class Alone:
    """Gives everything to the member that is sorted first."""

    name: ClassVar[str] = "alone"
    supported_protocols: ClassVar[tuple[RebalanceProtocol, ...]] = (RebalanceProtocol.EAGER,)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        draft = group.draft()
        for partition in group.partitions:
            draft.give(partition, to=group.subscribers(partition.topic)[0])
        return draft.freeze()


async def test_an_assignor_of_ones_own_divides_a_group(kafka: RealKafka, tmp_path: Path) -> None:
    ground = await lay_ground(kafka, 3)
    await ground.fill(5)
    own: Any = Alone()
    async with group_on(ground, tmp_path, assignors=(own,)) as group:
        await group.join("first")
        await group.join("second")
        await group.settled(0, 3)
        assert {each.consumer.membership.assignor for each in group.members} == {"alone"}
        await group.all_read()
        await group.end()


# -- frozen member --------------------------------------------------------------------------------
#
# A member's process is frozen past its session: on waking it hands out nothing it has lost.


SESSION = 2.0
WORK = 0.02
"""Seconds the frozen member is busy with each record: longer than it takes to write another, so
that it is frozen in the middle of its work, with records in its buffers and the next one due."""
RUN = 5
"""Records it takes in one run, without a turn of its event loop: only the gate, asked at each
hand-out, can stop it in time."""


async def test_a_member_frozen_past_its_session_delivers_nothing_on_waking(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    ground = await lay_ground(kafka, 6)
    log = tmp_path / "frozen.jsonl"
    async with group_on(ground, tmp_path, session_timeout=SESSION, max_poll_interval=5.0) as group:
        awake = await group.join("awake")
        await group.settled(6)
        options = {**group.options("frozen"), "work": WORK, "max_poll_records": RUN}
        async with child(ground.topic, log, anyio_backend_name, **options) as frozen:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ground.stream, WORK / 2)
                await eventually(lambda: delivered_from(frozen) == 3, "the child reads its half")
                frozen.freeze()
                await eventually(lambda: awake.owned == ground.all_partitions, "all has moved")
                before = len(frozen.entries())
                woken_at = frozen.wake()
                await eventually(
                    lambda: delivered_from(frozen, before) == 3, "the child is a member again"
                )
                tasks.cancel_scope.cancel()
            await frozen.close()
        await ground.stored()
        await group.all_read(frozen)
        await group.end()
    news = frozen.entries()[before:]
    woken = [entry.event for entry in news if entry.at >= woken_at]
    first = next(event for event in woken if isinstance(event, Delivered | OwnershipStep))
    assert isinstance(first, OwnershipStep), f"{first} before the child knew of its loss"
    assert first.kind is ChangeKind.LOST
    await group.verdict()


def delivered_from(member: Child, since: int = 0) -> int:
    """Count the partitions that were delivered from after so many entries of the log."""
    events = (entry.event for entry in member.entries()[since:])
    return len({event.claim.tp for event in events if isinstance(event, Delivered)})
