"""A coordination topic that cannot be used, or is not what it was: an error that says so, soon."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from kgroup.errors import CoordinationTopicError, KGroupError, UnsupportedError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.claiming import ClaimLog, all_owned, claiming, lay_log
from tests.real.ground import eventually, fresh, lay_ground
from tests.real.members import CROSSED, ENDING, Group, Member, group_on

pytestmark = pytest.mark.real

SOON = 15.0
"""Seconds in which a member must have failed; a busy machine takes a while over everything."""


@CROSSED
async def test_a_broker_without_the_coordination_topic_ends_the_member(
    kafka: RealKafka, tmp_path: Path
) -> None:
    ground = await lay_ground(kafka, 1)
    missing = ClaimLog(kafka, fresh("nowhere"), append_time=True)
    async with group_on(ground, tmp_path, **claiming(missing)) as group:
        text = await failure_of(group, await group.join("member"))
    assert missing.topic in text
    assert "kgroup marshal init" in text


@pytest.mark.parametrize(("kafka", "anyio_backend"), [("4.3.1", "asyncio")], indirect=["kafka"])
async def test_the_rules_of_the_original_are_refused_where_it_cannot_be(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """On brokers before 4.0 they are not (`test_marshal_mixed`)."""
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka)
    options = claiming(log, compat="go", marshal_heartbeat_interval=60)
    async with group_on(ground, tmp_path, **options) as group:
        member = await group.join("member")
        await eventually(member.finished.is_set, "it fails", timeout=SOON)
        group.members.remove(member)
    assert isinstance(member.failure, UnsupportedError)
    assert "compat='go': these brokers (4.0 or newer)" in str(member.failure)


@CROSSED
async def test_a_compacted_coordination_topic_ends_the_member(
    kafka: RealKafka, tmp_path: Path
) -> None:
    """Brokers refuse records without a key there, and would throw claims away."""
    ground = await lay_ground(kafka, 1)
    log = await lay_log(kafka, settings={"cleanup.policy": "compact"})
    async with group_on(ground, tmp_path, **claiming(log)) as group:
        text = await failure_of(group, await group.join("member"))
    assert log.topic in text
    assert "compact" in text


@CROSSED
async def test_deleting_the_coordination_topic_ends_its_members(
    kafka: RealKafka, tmp_path: Path
) -> None:
    text = await disturbed(kafka, tmp_path, delete)
    assert "deleted" in text


@CROSSED
async def test_more_partitions_of_the_coordination_topic_end_its_members(
    kafka: RealKafka, tmp_path: Path
) -> None:
    text = await disturbed(kafka, tmp_path, widen)
    assert "it has 2 partitions and had 1" in text


async def disturbed(
    kafka: RealKafka, folder: Path, disturb: Callable[[ClaimLog], Awaitable[None]]
) -> str:
    """Have two members claim, do something to their topic; return what one of them fails with."""
    ground, log = await lay_ground(kafka, 2), await lay_log(kafka)
    async with group_on(ground, folder, **claiming(log)) as group:
        for label in ("m1", "m2"):
            await group.join(label, group_instance_id=label, max_claims=1)
        await all_owned(group)
        await ground.fill(10)
        await group.all_read()
        await disturb(log)
        members = tuple(group.members)
        texts = {await failure_of(group, member) for member in members}
        # What they had cannot be known now; so each claim is reported as lost.
        assert [member.took(*ENDING) for member in members] == [[ChangeKind.LOST]] * 2
    (text,) = texts
    assert log.topic in text
    return text


async def failure_of(group: Group, member: Member) -> str:
    """Wait until a member has failed and ended; return the text of its error."""
    await eventually(lambda: member.failure, f"{member.label} fails", timeout=SOON)
    with anyio.fail_after(SOON):
        await member.finished.wait()
    group.members.remove(member)
    assert isinstance(member.failure, KGroupError)
    assert isinstance(member.failure, CoordinationTopicError)
    assert not member.owned
    return str(member.failure)


async def delete(log: ClaimLog) -> None:
    admin = AdminClient({"bootstrap.servers": log.kafka.bootstrap})
    await anyio.to_thread.run_sync(admin.delete_topics([log.topic])[log.topic].result, SOON)


async def widen(log: ClaimLog) -> None:
    admin = AdminClient({"bootstrap.servers": log.kafka.bootstrap})
    asked = admin.create_partitions([NewPartitions(log.topic, 2)])
    await anyio.to_thread.run_sync(asked[log.topic].result, SOON)
