"""Groups that coordinate by claims in a log, on real brokers: who has what, and since when.

Leases are short, so nothing here says how long something takes beyond what a lease forbids: the
assertions are about order and counts, and the audit of all event logs.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.audit import Verdict
from kgroup.journal import Delivered, OwnershipStep, Phase
from kgroup.marshal.messages import Kind
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.child import Child, child
from tests.real.claiming import LEASE, Stored, all_owned, claiming, lay_log, read_by
from tests.real.ground import Ground, eventually, lay_ground
from tests.real.members import CROSSED, Group, Member, group_on

pytestmark = pytest.mark.real

RACERS = 50
WORK = 0.02
"""Seconds a child is busy with each record: it is ended, or frozen, in the middle of its work."""
LONG = 30
"""Heartbeat interval of groups in which no lease is to run out."""


@asynccontextmanager
async def flowing(ground: Ground, interval: float = WORK / 2) -> AsyncIterator[None]:
    """Have records written throughout a block; all are stored at its end."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ground.stream, interval)
        yield
        tasks.cancel_scope.cancel()
    await ground.stored()


async def judged(group: Group) -> Verdict:
    """Judge all logs; nobody may have owned what another had, and nothing may be lost."""
    found = await group.verdict()
    assert (found.total.lost, found.total.two_owners, found.total.not_owned) == (0, 0, 0)
    return found


@CROSSED
async def test_fifty_clients_race_for_one_partition_and_one_has_it(
    kafka: RealKafka, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Exactly one claim is accepted, and exactly one client hands anything out."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    await ground.fill(20)
    options = claiming(log, claim_policy="greedy", marshal_heartbeat_interval=LONG)
    async with group_on(ground, tmp_path, **options) as group:
        async with anyio.create_task_group() as tasks:
            for label in (f"racer-{number}" for number in range(RACERS)):
                tasks.start_soon(join, group, label)
        await all_owned(group)
        await group.all_read()
        await ground.fill(20)
        await group.all_read()
        claims = [e for e in await log.stored(group.name) if e.kind is Kind.CLAIMING_PARTITION]
        request.node.user_properties.append(("claims written", len(claims)))
        readers = [member.label for member in group.members if member.reads]
        owners = [member.label for member in group.members if member.owned]
        assert await log.accepted(group.name) == readers == owners
        assert len(owners) == 1
        async with anyio.create_task_group() as tasks:
            for member in tuple(group.members):
                tasks.start_soon(group.leave, member)
    total = (await judged(group)).total
    assert (total.records, total.duplicated) == (40, 0)


@pytest.mark.parametrize(
    ("kafka", "anyio_backend", "append_time"),
    [
        ("4.3.1", "asyncio", True),
        ("4.3.1", "trio", False),
        ("3.9.1", "trio", True),
        ("3.9.1", "asyncio", False),
    ],
    indirect=["kafka"],
)
async def test_what_a_killed_process_had_is_taken_over_where_its_last_heartbeat_stood(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str, append_time: bool
) -> None:
    """Not before its lease is over, by the time of the log; what was not published comes again."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka, append_time=append_time)
    async with group_on(ground, tmp_path, **claiming(log)) as group:
        options = group.options("victim") | {"work": WORK, "group_instance_id": "victim"}
        journal = tmp_path / "victim.jsonl"
        victims = child(ground.topic, journal, anyio_backend_name, **options)
        async with flowing(ground), victims as victim:
            await eventually(lambda: read_by(victim), "the victim reads")
            heir = await join(group, "heir")
            await eventually(lambda: len(read_by(victim)) > 60, "the victim has worked")
            await victim.kill()
            await eventually(lambda: heir.reads, "somebody else reads")
        await group.all_read(victim)
        stored = await log.stored(group.name)
        await group.end()
    last, taken = last_beat(stored, "victim"), the_claim(stored, "heir")
    assert not [each for each in stored if each.client == "victim" and each.offset > taken.offset]
    if append_time:
        assert taken.time is not None
        assert last.time is not None
        assert taken.time - last.time >= LEASE
    assert read_by(heir)[0] == last.position
    assert last.position is not None
    verdict = await judged(group)
    assert verdict.total.duplicated == len(read_by(victim)) - last.position


@CROSSED
async def test_a_process_frozen_past_its_lease_hands_out_nothing_on_waking(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    """The original library hands out all that it has in its queue, 146 records when measured."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    journal = tmp_path / "frozen.jsonl"
    async with group_on(ground, tmp_path, **claiming(log)) as group:
        options = group.options("frozen") | {"work": WORK, "group_instance_id": "frozen"}
        await ground.fill(500)
        async with child(ground.topic, journal, anyio_backend_name, **options) as frozen:
            async with flowing(ground):
                await eventually(lambda: len(read_by(frozen)) > 20, "the child is at work")
                heir = await join(group, "heir")
                frozen.freeze()
                await eventually(lambda: len(read_by(heir)) > 20, "somebody else is at work")
                before = len(frozen.entries())
                frozen.wake()
                await eventually(lambda: lost(frozen, before), "the child knows of its loss")
                await anyio.sleep(1.0)
            await frozen.close()
        await group.all_read(frozen)
        await group.end()
    woken = [entry.event for entry in frozen.entries()[before:]]
    assert [event for event in woken if isinstance(event, Delivered)] == []
    assert len(lost(frozen, before)) == 1
    await judged(group)


def lost(process: Child, since: int) -> list[OwnershipStep]:
    """Return the losses that a process has told of after so many entries of its log."""
    events = (entry.event for entry in process.entries()[since:])
    steps = (event for event in events if isinstance(event, OwnershipStep))
    return [e for e in steps if e.kind is ChangeKind.LOST and e.phase is Phase.BEGIN]


async def join(group: Group, label: str, **options: Any) -> Member:
    """Have a member join whose name in the log is its label."""
    return await group.join(label, group_instance_id=label, **options)


def last_beat(stored: list[Stored], client: str) -> Stored:
    """Return the last heartbeat of a client."""
    return [each for each in stored if each.client == client and each.kind is Kind.HEARTBEAT][-1]


def the_claim(stored: list[Stored], client: str) -> Stored:
    """Return the one claim of a client that was accepted."""
    (found,) = (
        each
        for each in stored
        if (each.client, each.kind, each.verdict.value)
        == (client, Kind.CLAIMING_PARTITION, "accepted")
    )
    return found
