"""Members of the original library and of kgroup in one group, on the last brokers that serve both.

The original's member is scripted: it writes what its clock and its reading would have it write. Its
interval is 60 s and cannot be changed, and kgroup's members must have the same beside it.
"""

from pathlib import Path

import anyio
import pytest

from kgroup.backends.marshal.clock_check import WATCH
from kgroup.errors import GroupError
from kgroup.testing.kafka import RealKafka
from kgroup.types import ChangeKind
from tests.real.claiming import ClaimLog, all_owned, claiming, lay_log, read_by
from tests.real.ground import Ground, eventually, lay_ground
from tests.real.header_less import HeaderLess
from tests.real.members import Group, Member, group_on

pytestmark = [
    pytest.mark.real,
    pytest.mark.no_stand_in("what it stores of a message of magic 0 is asked of a real one"),
]

STANDARD = 60
"""Heartbeat interval of the original library, seconds."""

KINDS = pytest.mark.parametrize(
    ("append_time", "anyio_backend"),
    [
        pytest.param(True, "asyncio", id="LogAppendTime"),
        pytest.param(False, "trio", id="CreateTime"),
    ],
)


def original(group: Group, log: ClaimLog) -> HeaderLess:
    """Return a member of the original in a group."""
    return HeaderLess(group.ground.kafka, log.topic, group.name, group.ground.topic)


async def grounds(kafka: RealKafka, *, append_time: bool) -> tuple[Ground, ClaimLog]:
    ground, log = await lay_ground(kafka, 1), await lay_log(kafka, append_time=append_time)
    await ground.fill(30)
    return ground, log


@KINDS
async def test_what_the_original_releases_is_taken_over_at_its_position(
    kafka_391: RealKafka, tmp_path: Path, append_time: bool
) -> None:
    ground, log = await grounds(kafka_391, append_time=append_time)
    options = claiming(log, marshal_heartbeat_interval=STANDARD)
    async with group_on(ground, tmp_path, **options) as group:
        peer = original(group, log)
        await peer.claim()
        await peer.beat(10)
        member = await group.join("member", group_instance_id="member")
        await anyio.sleep(2.0)
        assert (member.owned, member.reads, member.failure) == (frozenset(), [], None)
        await peer.release(17)
        await all_owned(group)
        await eventually(lambda: read_by(member)[-1:] == [29], "it reads what is left")
        await group.end()
    assert read_by(member) == [*range(17, 30)]
    (first, *_) = [each for each in await log.stored(group.name) if each.client == "original"]
    assert (first.time is None) is not append_time


@pytest.mark.faults
@pytest.mark.parametrize("anyio_backend", ["trio"])  # it takes half a minute
async def test_what_the_original_left_long_ago_is_taken_over_by_the_senders_time(
    kafka_391: RealKafka, tmp_path: Path
) -> None:
    """Without append time its lease counts from what it wrote: over after twice its interval.

    After such a silence a member looks on for half a minute, whether its own clock is ahead.
    """
    ground, log = await grounds(kafka_391, append_time=False)
    options = claiming(log, marshal_heartbeat_interval=STANDARD)
    async with group_on(ground, tmp_path, **options) as group:
        peer = original(group, log)
        await peer.claim(age=200)
        await peer.beat(12, age=130)
        member = await group.join("member", group_instance_id="member")
        done = "it reads what is left"
        took = await eventually(lambda: read_by(member)[-1:] == [29], done, timeout=60.0)
        assert took > WATCH
        await group.end()
    assert read_by(member) == [*range(12, 30)]


@KINDS
@pytest.mark.parametrize("compat", ["auto", "go"])
async def test_nothing_is_handed_out_once_a_heartbeat_of_the_original_was_read(
    kafka_391: RealKafka, tmp_path: Path, append_time: bool, compat: str
) -> None:
    """It obeys no fence: its heartbeat makes it the owner. A member that reads it stops at once."""
    ground, log = await grounds(kafka_391, append_time=append_time)
    options = claiming(log, marshal_heartbeat_interval=STANDARD, compat=compat)
    async with group_on(ground, tmp_path, **options) as group:
        member = await group.join("member", group_instance_id="member")
        await eventually(lambda: read_by(member)[-1:] == [29], "it reads what there is")
        peer = original(group, log)
        await peer.claim()
        await peer.beat(30)
        await eventually(lambda: member.took(ChangeKind.LOST), "it loses it")
        await ground.fill(20)
        await anyio.sleep(1.0)
        assert read_by(member)[-1] == 29
        assert member.failure is None
        await peer.release(42)
        await eventually(lambda: read_by(member)[-1:] == [49], "it has it again", timeout=60.0)
        await group.end()
    assert read_by(member) == [*range(30), *range(42, 50)]
    assert member.took(ChangeKind.LOST) == [ChangeKind.LOST]


@KINDS
async def test_what_kgroup_releases_the_original_can_claim(
    kafka_391: RealKafka, tmp_path: Path, append_time: bool
) -> None:
    ground, log = await grounds(kafka_391, append_time=append_time)
    options = claiming(log, marshal_heartbeat_interval=STANDARD)
    async with group_on(ground, tmp_path, **options) as group:
        member = await group.join("member", group_instance_id="member")
        await eventually(lambda: read_by(member)[-1:] == [29], "it reads what there is")
        peer = original(group, log)
        await peer.claim()
        refused = (await log.stored(group.name))[-1]
        await group.leave(member)
        await peer.claim()
        taken = (await log.stored(group.name))[-1]
    assert (refused.client, refused.verdict.value) == ("original", "refused")
    assert (taken.client, taken.verdict.value, taken.position) == ("original", "accepted", 30)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"guarantee": "at_most_once"}, "at-most-once needs members that keep kgroup's rules"),
        ({"marshal_heartbeat_interval": 2}, "the heartbeat interval must be 60 s beside it"),
    ],
    ids=["at most once", "short interval"],
)
@pytest.mark.parametrize("first", ["the original", "kgroup"])
async def test_what_cannot_be_kept_beside_the_original_is_refused(
    kafka_391: RealKafka, tmp_path: Path, options: dict[str, object], why: str, first: str
) -> None:
    ground, log = await grounds(kafka_391, append_time=True)
    settings = claiming(log, **{"marshal_heartbeat_interval": STANDARD, **options})
    async with group_on(ground, tmp_path, **settings) as group:
        peer = original(group, log)
        if first == "kgroup":
            member = await group.join("member", group_instance_id="member")
            await eventually(lambda: read_by(member)[-1:] == [29], "it reads what there is")
            await peer.claim()
            await peer.beat(30)
        else:
            await peer.claim()
            await peer.beat(10)
            member = await group.join("member", group_instance_id="member")
        await refused(group, member, why)
        assert len(member.reads) == (30 if first == "kgroup" else 0)


async def refused(group: Group, member: Member, why: str) -> None:
    """Wait until a member has ended, and see why."""
    with anyio.fail_after(20.0):
        await member.finished.wait()
    group.members.remove(member)
    assert isinstance(member.failure, GroupError)
    assert why in str(member.failure)
    assert "a peer without kgroup's headers" in str(member.failure)
