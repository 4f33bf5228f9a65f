"""At most once, nobody knows whether a heartbeat was stored, and the process lives on.

Row 8c of the table of crash points, on a real broker. The network is cut at the step itself: what a
member is about to send, it tells in its event log first. Batches have ten records, and the second
one, 10 to 19, is committed with Kafka when its heartbeat is sent.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from kgroup.journal import ClaimMessage, ClaimStage, ClaimStep, Event
from kgroup.marshal.messages import Kind
from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.contracts.cable import Cable
from tests.real.claiming import LEASE, claiming, lay_log, read_by
from tests.real.ground import eventually, lay_ground
from tests.real.members import CROSSED, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]

RECORDS, BATCH, SECOND = 30, 10, 20


class Doubt(NamedTuple):
    """How the network is cut, and what comes of the batch.

    Args:
        answers_only: whether the heartbeat is stored at once, not when the network is mended.
        outlasts: whether the cut outlasts the lease.
        lost: records that nobody gets.
    """

    answers_only: bool
    outlasts: bool
    lost: int


DOUBTS = {
    "stored, and read back in time": Doubt(True, False, 0),
    "on its way, and read back in time": Doubt(False, False, 0),
    "stored, and not read back in time": Doubt(True, True, BATCH),
    "on its way, and stored when the lease is over": Doubt(False, True, BATCH),
}


class Cutting:
    """An event log that acts once, when the heartbeat of the second batch is about to be sent.

    Args:
        act: what to do.
    """

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self.acted = False

    def emit(self, event: Event) -> None:
        match event:
            case ClaimStep(message=ClaimMessage.HEARTBEAT, stage=ClaimStage.WRITTEN) if (
                event.position == SECOND and not self.acted
            ):
                self.acted = True
                self._act()


@CROSSED
async def test_a_batch_in_doubt_is_handed_out_once_it_is_read_back_and_else_never(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Each doubt has a group, a topic and a log of its own; they are waited for together."""
    async with anyio.create_task_group() as tasks:
        for name, doubt in DOUBTS.items():
            tasks.start_soon(play, kafka, made(tmp_path / name.replace(" ", "-")), doubt, name=name)


async def play(kafka: RealKafka, folder: Path, doubt: Doubt) -> None:
    """Cut the network at the step, mend it, and see what was handed out."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    await ground.fill_in_one_batch(RECORDS)
    portions = {"max_poll_records": BATCH, "at_most_once_records": BATCH}
    options = claiming(log, guarantee="at_most_once", **portions)
    ports = system_ports()
    cable = Cable(ports.dial)
    cutting = Cutting(lambda: cable.cut(answers_only=doubt.answers_only))
    async with group_on(ground, folder, **options) as group:
        member = await group.join("one", ports=replace(ports, dial=cable), journal=cutting)
        await eventually(lambda: cutting.acted, "the second batch is about to be published")
        assert read_by(member) == [*range(BATCH)]
        if doubt.outlasts:
            await eventually(lambda: lost_all(member), "its lease is over", timeout=2 * LEASE)
        else:
            await anyio.sleep(LEASE / 4)
        assert read_by(member) == [*range(BATCH)]
        await cable.mend()
        await eventually(lambda: read_by(member)[-1:] == [RECORDS - 1], "the rest is read")
        await group.end()
    lost = range(BATCH, BATCH + doubt.lost)
    assert read_by(member) == [n for n in range(RECORDS) if n not in lost]
    stored = [each for each in await log.stored(group.name) if each.kind is Kind.HEARTBEAT]
    assert any(each.position == SECOND for each in stored)


def made(folder: Path) -> Path:
    """Make a folder."""
    folder.mkdir()
    return folder


def lost_all(member: Member) -> bool:
    """Tell whether its listener heard that everything is lost."""
    return any(change.kind is ChangeKind.LOST for change in member.changes)
