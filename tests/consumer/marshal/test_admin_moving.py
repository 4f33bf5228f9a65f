"""A group changes from the group coordinator to the log of claims and back; positions stay.

From the log to the coordinator nothing is to be done: every position is committed as well. The
other way older positions in the log count before what is committed, until they are set anew.
"""

from itertools import count
from typing import Literal

import anyio
import pytest

from kgroup import Consumer
from kgroup.admin.groups import committed_offsets
from kgroup.admin.marshal.claim_log import claim_log
from kgroup.admin.marshal.positions import Asked, set_positions
from kgroup.admin.marshal.settings import AdminSettings
from kgroup.marshal.admin import Stage
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import TopicPartition
from tests.consumer.ground import fill
from tests.consumer.marshal.stage import coordinated, running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TPS = (TopicPartition("t", 0), TopicPartition("t", 1))
SEEDS = count(1)


def laid() -> InProcessBroker:
    broker = coordinated(t=2)
    for tp in TPS:
        fill(broker, tp, 100)
    return broker


Mode = Literal["classic", "marshal"]


async def read(broker: InProcessBroker, backend: Mode, records: int) -> dict[int, list[int]]:
    """Read so many records of each partition, commit, and leave; offsets by partition."""
    seen: dict[int, list[int]] = {tp.partition: [] for tp in TPS}
    consumer = Consumer(
        "t",
        bootstrap_servers=broker.bootstrap_servers,
        group_id="g",
        backend=backend,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        ports=virtual_ports(broker.dial, seed=next(SEEDS)),
    )
    async with consumer:
        while any(len(each) < records for each in seen.values()):
            assert anyio.current_time() < 600
            batches = await consumer.getmany(timeout=1.0, max_records=5)
            for tp, batch in batches.items():
                seen[tp.partition] += [record.offset for record in batch]
            consumer.pause(*(tp for tp in batches if len(seen[tp.partition]) >= records))
        await consumer.commit()
    return seen


async def moved_over(broker: InProcessBroker) -> None:
    """Do what `kgroup marshal set-positions --from-committed` does."""
    async with running(broker) as cluster:
        found = await committed_offsets(cluster, "g", timeout=10)
        targets = {tp: each.offset for tp, each in found.items() if each is not None}
        async with claim_log(cluster, AdminSettings("g"), frozenset({"t"})) as place:
            moves = await set_positions(place, targets, Asked(), lambda _: None)
    assert {move.stage for move in moves} == {Stage.SET}


async def test_from_the_coordinator_to_the_log_and_back_nothing_is_lost_or_repeated() -> None:
    broker = laid()
    total: dict[int, list[int]] = {tp.partition: [] for tp in TPS}
    turns: tuple[Mode, ...] = ("marshal", "classic", "marshal", "classic")
    for backend in turns:
        for partition, offsets in (await read(broker, backend, 20)).items():
            total[partition] += offsets
        if backend == "classic":
            await moved_over(broker)
    for offsets in total.values():
        assert offsets == list(range(len(offsets)))
        assert len(offsets) >= 80


async def test_without_being_moved_the_older_position_of_the_log_counts() -> None:
    broker = laid()
    first = await read(broker, "marshal", 20)
    second = await read(broker, "classic", 20)
    third = await read(broker, "marshal", 5)
    for partition, offsets in third.items():
        assert second[partition][0] == first[partition][-1] + 1
        assert offsets[0] == second[partition][0]
