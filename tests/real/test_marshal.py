"""Groups that coordinate by claims in a log, on real brokers: what each member has, and since when.

Leases are short, so nothing here says how long something takes beyond what a lease forbids: the
assertions are about order and counts, and the audit of all event logs.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kgroup.audit import Verdict
from kgroup.errors import FencedError
from kgroup.journal import Delivered, OwnershipStep, Phase
from kgroup.marshal.messages import Kind
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.child import Child, child
from tests.real.claiming import LEASE, Stored, all_owned, claiming, lay_log, read_by
from tests.real.ground import PATIENCE, Ground, eventually, lay_ground
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
    """Judge all logs; no member may have owned what another had, and nothing may be lost."""
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
        await all_owned(group, timeout=3 * PATIENCE)  # all of them share a processor
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


@pytest.mark.faults
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
                woken_at = frozen.wake()
                await eventually(lambda: lost(frozen, before), "the child knows of its loss")
                await anyio.sleep(1.0)
            await frozen.close()
        await group.all_read(frozen)
        await group.end()
    woken = [entry for entry in frozen.entries()[before:] if entry.at >= woken_at]
    assert [entry for entry in woken if isinstance(entry.event, Delivered)] == []
    assert len(lost(frozen, before)) == 1
    await judged(group)


@CROSSED
async def test_a_process_that_starts_again_resumes_at_once_what_it_had(
    kafka: RealKafka, tmp_path: Path, anyio_backend_name: str
) -> None:
    """Killed, and started under its name: at the logged offset, long before its lease is over."""
    ground, log = await lay_ground(kafka, 2), await lay_log(kafka)
    await ground.fill(200)
    often = {"auto_commit_interval": 0.1, "max_poll_records": 10}
    options = claiming(log, marshal_heartbeat_interval=LONG, **often)
    async with group_on(ground, tmp_path, **options) as group:
        settings = group.options("member") | {"work": WORK, "group_instance_id": "member"}
        journal = tmp_path / "first.jsonl"
        async with child(ground.topic, journal, anyio_backend_name, **settings) as first:
            await eventually(lambda: has_worked(first, ground), "the first process has worked")
            await first.kill()
        other = await join(group, "other")
        before = await log.stored(group.name)
        second = await join(group, "member")
        took = await eventually(lambda: second.owned == ground.all_partitions, "it resumes")
        await group.all_read(first)
        assert took < LONG
        assert other.reads == []
        await group.end()
    logged = {each.tp: each.position for each in before}
    begun = {tp: min(at for of, at in second.seen if of == tp) for tp in ground.all_partitions}
    assert begun == logged
    total = (await judged(group)).total
    assert total.duplicated == len(first.seen) - sum(begun.values())


@CROSSED
async def test_of_two_with_one_name_the_later_has_all_and_the_earlier_is_fenced(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground, log = await lay_ground(kafka, 2), await lay_log(kafka)
    options = claiming(log, marshal_heartbeat_interval=LONG)
    async with group_on(ground, tmp_path, **options) as group:
        older = await group.join("older", group_instance_id="twin")
        await all_owned(group)
        async with flowing(ground, 0.05):
            await eventually(lambda: older.reads, "the older one reads")
            younger = await group.join("younger", group_instance_id="twin")
            await eventually(lambda: younger.reads, "the younger one reads")
            await eventually(older.finished.is_set, "the older one has ended")
            group.members.remove(older)
            seen = len(older.reads)
            await anyio.sleep(0.5)
            assert len(older.reads) == seen
        assert isinstance(older.failure, FencedError)
        assert "'twin' was started again" in str(older.failure)
        assert younger.failure is None
        assert older.took(ChangeKind.LOST)
        await group.all_read(older)
        await group.end()
    await judged(group)


@CROSSED
@pytest.mark.parametrize("append_time", [True, False], ids=["LogAppendTime", "CreateTime"])
async def test_members_share_a_topic_and_take_over_what_one_of_them_releases(
    kafka: RealKafka, tmp_path: Path, append_time: bool
) -> None:
    """A member that closes releases: none waits for a lease, and nothing comes twice."""
    ground, log = await lay_ground(kafka, 6), await lay_log(kafka, append_time=append_time)
    async with group_on(
        ground, tmp_path, **claiming(log, marshal_heartbeat_interval=LONG)
    ) as group:
        members = [await join(group, label) for label in ("m1", "m2", "m3")]
        await all_owned(group)
        async with flowing(ground, 0.05):
            await anyio.sleep(0.5)
            leaver = max(members, key=lambda member: len(member.owned))
            await group.leave(leaver)
            took = await all_owned(group)
            await anyio.sleep(0.5)
        assert took < LONG
        await group.all_read(leaver)
        await group.end()
    assert (await judged(group)).total.duplicated == 0


def has_worked(process: Child, ground: Ground) -> bool:
    """Tell whether it has read a good deal of every partition."""
    counts = Counter(tp for tp, _ in process.seen)
    return all(counts[tp] > 20 for tp in ground.all_partitions)


def lost(process: Child, since: int) -> list[OwnershipStep]:
    """Return the losses that a process has logged after so many entries of its log."""
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
