"""What is lost and what comes twice when a process is killed at each step of its work.

The figures are exact: a process of its own works through batches of ten records, ends itself by
SIGKILL at the step that a row names, and somebody else goes on. Both sides write down what they
are done with. Rows have nothing in common but the broker, so a few are played at a time, and each
table is played on both versions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from confluent_kafka.admin import AdminClient

from kgroup.audit import audit
from kgroup.journal import ClaimMessage, ClaimStage, ClaimStep, Event
from kgroup.marshal.messages import Kind
from kgroup.net.ports import system_ports
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.contracts.cable import Cable
from tests.real.claiming import LEASE, all_owned, claiming, lay_log, read_by
from tests.real.crashing import Script, Spot, crash
from tests.real.ground import eventually, lay_ground
from tests.real.members import CROSSED, Member, group_on

pytestmark = [pytest.mark.real, pytest.mark.faults]


RECORDS = 30
BATCH = 10
AT_A_TIME = 4
"""Rows: most of their time is spent waiting, for a process to start or for a lease to end."""
LONG = 30
"""Heartbeat interval of rows in which no member waits for the end of a lease."""
PATIENCE = 60.0
"""Seconds; processes start slowly where several of them do."""


class Row(NamedTuple):
    """One row of a table of crash points.

    Args:
        name: of the step.
        script: what the process does.
        lost: records that nobody gets.
        doubled: records that come twice.
        heir: "itself", started again under its name, or "another" that has to wait for the lease.
    """

    name: str
    script: Script
    lost: int
    doubled: int
    heir: str = "itself"

    def __str__(self) -> str:
        return f"{self.name}, then {self.heir}"


def second(spot: Spot, position: int | None = 20) -> Script:
    """End at a step of the second batch, records 10 to 19."""
    return Script(spot=spot.value, position=position, done=BATCH)


AT_MOST_ONCE: Sequence[Row] = (
    Row("1 ownership is looked at", second(Spot.POLLED), 0, 0),
    Row("2 records are fetched", Script(spot=Spot.FETCHED.value), 0, 0),
    Row("3 the batch is cut, its probe not sent", second(Spot.PROBE_WRITTEN), 0, 0),
    Row("4 the probe is stored", second(Spot.PROBE_STORED), 0, 0),
    Row("5, 6 the probe is read back", second(Spot.PROBE_READ), 0, 0),
    Row("7 the probe holds, nothing committed", second(Spot.COMMIT_SENT), 0, 0),
    Row("8 committed, the heartbeat not sent", second(Spot.BEAT_WRITTEN), BATCH, 0),
    Row("8 committed, the heartbeat not sent", second(Spot.BEAT_WRITTEN), BATCH, 0, "another"),
    Row("8 the heartbeat is stored", second(Spot.BEAT_STORED), BATCH, 0),
    Row("8 the heartbeat is read back", second(Spot.BEAT_READ), BATCH, 0),
    Row("9 four of ten are done", Script(spot=Spot.DONE.value, done=14), 6, 0),
    Row("9 four of ten are done", Script(spot=Spot.DONE.value, done=14), 6, 0, "another"),
    Row("after 9", Script(spot=Spot.DONE.value, done=20), 0, 0),
)


def committing(spot: Spot, done: int, *, position: int | None = None, **more: int) -> Script:
    """Commit 10 behind the first batch, 15 behind the second, records 10 to 19."""
    return Script(spot=spot.value, position=position, done=done, commits=(10, 15), **more)


def closing(spot: Spot, second_commit: int | None) -> Script:
    """Close behind the second batch."""
    return Script(spot=spot.value, done=20, commits=(10, second_commit), closes_after=2)


AT_LEAST_ONCE: Sequence[Row] = (
    Row("the claim is not sent", Script(spot=Spot.CLAIM_WRITTEN.value), 0, 0),
    Row("the claim is accepted", Script(spot=Spot.CLAIM_READ.value), 0, 0),
    Row("the claim is accepted", Script(spot=Spot.CLAIM_READ.value), 0, 0, "another"),
    Row("the first heartbeat counts", Script(spot=Spot.BEAT_READ.value), 0, 0),
    Row("handed out, four of ten are done", committing(Spot.DONE, 14), 0, 4),
    Row("handed out, four of ten are done", committing(Spot.DONE, 14), 0, 4, "another"),
    Row("done, not committed", committing(Spot.DONE, 20), 0, 10),
    Row("committed, the heartbeat not sent", committing(Spot.BEAT_WRITTEN, 20, position=15), 0, 10),
    Row("the heartbeat is stored", committing(Spot.BEAT_STORED, 20, position=15), 0, 5),
    Row("the heartbeat is read back", committing(Spot.BEAT_READ, 20, position=15), 0, 5),
    Row("the release is not sent", closing(Spot.RELEASE_WRITTEN, None), 0, 10),
    Row("the release is read back", closing(Spot.RELEASE_READ, 15), 0, 5, "another"),
    Row("the release of all is read back", closing(Spot.RELEASE_READ, 20), 0, 0, "another"),
)


@CROSSED
async def test_at_most_once_loses_what_was_published_and_doubles_nothing(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    at_most_once = {"guarantee": "at_most_once"}
    found = await fates(AT_MOST_ONCE, kafka, tmp_path, anyio_backend_name, **at_most_once)
    assert found == figures(AT_MOST_ONCE)


@CROSSED
async def test_at_least_once_repeats_what_was_not_published_and_loses_nothing(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    by_hand = {"enable_auto_commit": False}
    found = await fates(AT_LEAST_ONCE, kafka, tmp_path, anyio_backend_name, **by_hand)
    assert found == figures(AT_LEAST_ONCE)


@CROSSED
async def test_a_bound_on_what_is_not_committed_is_all_that_comes_twice(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    """Scenario 25: of batches of ten it gets five, commits three, gets three more, and dies."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    await ground.fill_in_one_batch(RECORDS)
    more = {"enable_auto_commit": False, "max_poll_records": BATCH}
    async with group_on(ground, tmp_path, **claiming(log, **more)) as group:
        settings = group.options("victim") | {"max_uncommitted": 5}
        script = Script(spot=Spot.POLLED.value, done=8, commits=(3,))
        done = await crash(ground.topic, tmp_path, anyio_backend_name, script, **settings)
        heir = await group.join("heir")
        rest = "the rest is read"
        await eventually(lambda: read_by(heir)[-1:] == [RECORDS - 1], rest, timeout=PATIENCE)
        assert (done, read_by(heir)) == ([*range(8)], [*range(3, RECORDS)])
        await group.end()


@pytest.mark.parametrize("reset", ["earliest", "latest"])
@CROSSED
async def test_without_the_log_and_without_offsets_the_reset_policy_decides(
    kafka: RealKafka, anyio_backend_name: str, tmp_path: Path, reset: str
) -> None:
    """The last row of the table: "earliest" repeats everything, "latest" loses what was left."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    await ground.fill_in_one_batch(RECORDS)
    more = {"enable_auto_commit": False, "max_poll_records": BATCH, "auto_offset_reset": reset}
    async with group_on(ground, tmp_path, **claiming(log, **more)) as group:
        settings = group.options("victim") | {"auto_offset_reset": "earliest"}
        script = committing(Spot.DONE, 20)
        done = await crash(ground.topic, tmp_path, anyio_backend_name, script, **settings)
        await anyio.to_thread.run_sync(forget, kafka, group.name)
        empty = await lay_log(kafka)
        heir = await group.join("heir", coordination_topic=empty.topic)
        await all_owned(group)
        await heir.consumer.position(ground.tp(0))
        await ground.fill(1)
        await eventually(lambda: read_by(heir)[-1:] == [RECORDS], "the newest is read")
        done += read_by(heir)
        await group.end()
    lost, doubled = RECORDS + 1 - len(set(done)), len(done) - len(set(done))
    assert (lost, doubled) == ((0, 20) if reset == "earliest" else (10, 0))


def forget(kafka: RealKafka, group: str) -> None:
    """Have the group coordinator forget what the group committed."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_consumer_groups([group])[group].result(10.0)


def figures(rows: Sequence[Row]) -> Mapping[str, tuple[int, int]]:
    """Return what the table says: row -> records lost, records that come twice."""
    return {str(row): (row.lost, row.doubled) for row in rows}


async def fates(
    rows: Sequence[Row], kafka: RealKafka, folder: Path, runs_on: str, **options: Any
) -> Mapping[str, tuple[int, int]]:
    """Play all rows, a few at a time; return what happened, as `figures`."""
    found: dict[str, tuple[int, int]] = {}
    limit = anyio.CapacityLimiter(AT_A_TIME)

    async def play(number: int, row: Row) -> None:
        async with limit:
            own = folder / f"row-{number}"
            own.mkdir()
            try:
                found[str(row)] = await fate(kafka, own, runs_on, row, **options)
            except Exception as error:
                error.add_note(f"row {str(row)!r}")
                raise

    async with anyio.create_task_group() as tasks:
        for number, row in enumerate(rows):
            tasks.start_soon(play, number, row)
    return found


async def fate(
    kafka: RealKafka, folder: Path, runs_on: str, row: Row, **options: Any
) -> tuple[int, int]:
    """Play a row; return how many records were lost, and how many came twice."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    await ground.fill_in_one_batch(RECORDS)
    given = {"max_poll_records": BATCH, "at_most_once_records": BATCH, **options}
    if row.heir == "itself":
        given["marshal_heartbeat_interval"] = LONG
    async with group_on(ground, folder, **claiming(log, **given)) as group:
        settings = group.options("victim") | {"group_instance_id": "victim"}
        done = await crash(ground.topic, folder, runs_on, row.script, **settings)
        heir = "victim" if row.heir == "itself" else "heir"
        member = await group.join(heir, group_instance_id=heir)
        rest = "the rest is read"
        await eventually(lambda: read_by(member)[-1:] == [RECORDS - 1], rest, timeout=PATIENCE)
        done += read_by(member)
        await group.end()
    total = audit([folder / "*.jsonl"]).total
    assert (total.two_owners, total.not_owned) == (0, 0)
    return RECORDS - len(set(done)), len(done) - len(set(done))


# -- marshal doubt --------------------------------------------------------------------------------
#
# At most once: whether a heartbeat was stored is unknown, and the process lives on.
#
# Row 8c of the table of crash points, on a real broker. The network is cut at the step itself:
# what a member is about to send, it tells in its event log first. Batches have ten records, and
# the second one, 10 to 19, is committed with Kafka when its heartbeat is sent.


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
