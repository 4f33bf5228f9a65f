"""The end of a membership: left, fenced, or closed with every broker dead, in any state."""

import logging
from collections.abc import Awaitable, Callable

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.membership.states import FACTS
from kgroup.types import ChangeKind, Leave, MemberState, OwnershipChange
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MetadataRequest,
    SyncGroupRequest,
)
from tests.consumer.scene import Member, Scene, another_waits, scene, settings
from tests.consumer.wires import Wires

S = MemberState


def leavers(on: Scene) -> list[str]:
    return [
        row.member_id
        for seen in on.seen(LeaveGroupRequest)
        if isinstance(seen.request, LeaveGroupRequest)
        for row in seen.request.members
    ]


async def test_a_dynamic_member_says_that_it_leaves_and_why() -> None:
    async with scene() as on:
        member = await on.joined()
        await member.backend.leave(Leave.DEFAULT, "maintenance", timeout=5.0)
        (seen,) = on.seen(LeaveGroupRequest)
        assert isinstance(seen.request, LeaveGroupRequest)
        assert [row.reason for row in seen.request.members] == ["maintenance"]
        assert on.group.state == "Empty"
        await member.ends()
        assert member.error is None


@pytest.mark.parametrize(
    ("instance", "mode", "left"),
    [
        (None, Leave.DEFAULT, True),
        (None, Leave.REMAIN, False),
        ("i", Leave.DEFAULT, False),
        ("i", Leave.LEAVE, True),
    ],
)
async def test_one_log_line_says_that_a_member_left_and_whether_it_sent_leave_group(
    instance: str | None, mode: Leave, left: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with scene() as on:
        member = await on.joined(settings(group_instance_id=instance))
        name = member.member_id
        caplog.set_level(logging.INFO, logger="kgroup")
        await member.backend.leave(mode, "maintenance", timeout=5.0)
    (line,) = (each.getMessage() for each in caplog.records)
    assert line == f"group=g member={name} left leave_sent={left} reason=maintenance"


async def test_a_member_that_remains_while_joining_sends_no_leave_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as on:
        member = await on.joined()
        await another_waits(on, member)
        caplog.set_level(logging.INFO, logger="kgroup")
        await member.backend.leave(Leave.REMAIN, "maintenance", timeout=5.0)
    (line,) = (each.getMessage() for each in caplog.records)
    assert line.endswith("left leave_sent=False reason=maintenance")


async def test_one_log_line_says_that_a_member_unsubscribed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as on:
        member = await on.joined()
        name = member.member_id
        caplog.set_level(logging.INFO, logger="kgroup")
        member.backend.subscribe(None)
        await member.reaches(S.UNSUBSCRIBED)
    (line,) = (each.getMessage() for each in caplog.records)
    assert line == f"group=g member={name} left leave_sent=True reason=the application unsubscribed"


async def test_a_coordinator_that_was_found_is_logged_at_debug_level(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="kgroup.net.coordinator")
    async with scene() as on:
        await on.joined()
    (line,) = (each.getMessage() for each in caplog.records)
    assert line == "group=g coordinator found node=1 address=broker-1:9092"


async def test_concurrent_leaves_all_return_and_send_one_leave_group() -> None:
    async with scene() as on, anyio.create_task_group() as tasks:
        member = await on.joined()
        for _ in range(3):
            tasks.start_soon(leave, member)
        await leave(member)
        assert len(leavers(on)) == 1


async def leave(member: Member) -> None:
    await member.backend.leave(Leave.DEFAULT, "closing", timeout=5.0)


# -- closing with every broker dead ------------------------------------------------------------


async def finding(on: Scene) -> Member:
    on.refuse(FindCoordinatorRequest, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return await on.member()


async def hanging(on: Scene, *assignors: str) -> Member:
    async def hangs(change: OwnershipChange) -> None:
        if change.kind is not ChangeKind.ASSIGNED:
            await anyio.sleep_forever()

    return await on.joined(settings(*assignors), listener=hangs)


async def preparing(on: Scene) -> Member:
    member = await hanging(on, "range")
    on.group.rebalance()
    return member


async def joining(on: Scene) -> Member:
    member = await hanging(on)
    on.peers.expect_somebody()
    on.group.rebalance()
    return member


async def assigning(on: Scene) -> Member:
    member = await hanging(on)
    on.answers.lose(MetadataRequest, times=None)
    on.peers.add("other", "elsewhere")
    return member


async def syncing(on: Scene) -> Member:
    member = await hanging(on)
    on.answers.lose(SyncGroupRequest, times=None)
    on.group.rebalance()
    return member


async def backing_off(on: Scene) -> Member:
    member = await hanging(on)
    on.refuse(JoinGroupRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    on.group.rebalance()
    return member


async def dormant(on: Scene) -> Member:
    member = await on.joined()
    member.application.polls = False
    return member


async def unsubscribed(on: Scene) -> Member:
    member = await on.joined()
    member.backend.subscribe(None)
    return member


async def releasing(on: Scene) -> Member:
    member = await hanging(on)
    member.backend.subscribe(None)
    return member


async def leaving(on: Scene) -> Member:
    on.answers.lose(LeaveGroupRequest, times=None)
    return await unsubscribed(on)


async def left(on: Scene) -> Member:
    member = await on.joined()
    await leave(member)
    return member


async def fenced(on: Scene) -> Member:
    member = await hanging(on)
    on.refuse(HeartbeatRequest, ErrorCode.FENCED_INSTANCE_ID)
    return member


async def failed(on: Scene) -> Member:
    on.refuse(JoinGroupRequest, ErrorCode.INVALID_GROUP_ID)
    return await on.member()


WAYS: dict[MemberState, Callable[[Scene], Awaitable[Member]]] = {
    S.UNSUBSCRIBED: unsubscribed,
    S.FINDING: finding,
    S.PREPARING: preparing,
    S.JOINING: joining,
    S.ASSIGNING: assigning,
    S.SYNCING: syncing,
    S.STABLE: hanging,
    S.BACKING_OFF: backing_off,
    S.DORMANT: dormant,
    S.RELEASING: releasing,
    S.LEAVING: leaving,
    S.LEFT: left,
    S.FENCED: fenced,
    S.FAILED: failed,
}


def test_every_state_has_a_way_to_reach_it() -> None:
    assert set(WAYS) == set(FACTS)


def refuse(on: Scene, _: Wires) -> None:
    for node_id in (1, 2):
        on.broker.node(node_id).kill()


def fall_silent(on: Scene, _: Wires) -> None:
    for node_id in (1, 2):
        on.mute(node_id)


def jam(_: Scene, wires: Wires) -> None:
    wires.jammed = True


@pytest.mark.parametrize("die", [refuse, fall_silent, jam])
@pytest.mark.parametrize("state", FACTS, ids=lambda state: state.name)
async def test_close_is_bounded_in_every_state_with_every_broker_dead(
    state: MemberState, die: Callable[[Scene, Wires], None]
) -> None:
    async with scene(2) as on:
        on.dial = wires = Wires(on.broker.dial)
        member = await WAYS[state](on)
        await member.reaches(state, within=100.0)
        die(on, wires)
        before = anyio.current_time()
        await member.backend.leave(Leave.LEAVE, "closing", timeout=5.0)
        assert anyio.current_time() - before <= 5.01
        await member.ends(2.0)
        assert member.backend.membership.claims == ()
        assert member.backend.membership.state in (S.LEFT, S.FENCED, S.FAILED)
