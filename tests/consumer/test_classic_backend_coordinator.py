"""The coordinator moves, dies, falls silent and comes back; a member keeps what it can prove."""

import logging
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from kgroup.codes import ErrorCode
from kgroup.testing.broker.server.faults import Rule
from kgroup.types import Cause, ChangeKind, Membership, OffsetAndMetadata
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest
from tests.consumer.scene import (
    HEARTBEAT,
    PATIENT,
    SESSION,
    Member,
    Scene,
    another_waits,
    joins,
    scene,
)
from tests.contracts.application import until


def same(before: Membership, now: Membership) -> bool:
    """Tell whether nothing happened to a member but the move."""
    return (before.generation, before.claims, before.rebalances) == (
        now.generation,
        now.claims,
        now.rebalances,
    )


def hand_over(on: Scene) -> None:
    on.group.move_to(2)


def hang_up(on: Scene) -> None:
    on.hang_up()
    on.group.move_to(2)


def go_down(on: Scene) -> None:
    on.go_down()


def fall_silent(on: Scene) -> None:
    on.mute(1)
    on.group.move_to(2)


@pytest.mark.parametrize("move", [hand_over, hang_up, go_down, fall_silent])
async def test_a_coordinator_that_moves_costs_nothing(move: Callable[[Scene], None]) -> None:
    async with scene(2) as on:
        member = await on.joined()
        before = member.backend.membership
        move(on)
        await until(lambda: on.seen(HeartbeatRequest, 2), SESSION, "the move")
        await anyio.sleep(3 * SESSION)
        assert same(before, member.backend.membership)
        assert all(member.backend.may_deliver(claim) for claim in before.claims)
        assert len(on.seen(JoinGroupRequest)) == 2


async def test_a_dead_node_is_named_as_coordinator_for_a_while() -> None:
    """FindCoordinator goes on naming the dead node, without an error, for some seconds."""
    async with scene(2, brokers_settings=replace(PATIENT, election_delay=3.0)) as on:
        member = await on.joined()
        before = member.backend.membership
        on.go_down()
        await anyio.sleep(3.0)
        await until(lambda: on.seen(HeartbeatRequest, 2), 5.0, "the move")
        assert same(before, member.backend.membership)


@pytest.mark.parametrize(
    ("count", "partitions"), [(4, "t-0, t-1, t-2, t-3"), (9, "t-0, t-1, t-2, t-3, t-4 and 4 more")]
)
async def test_lost_partitions_are_warned_of_with_their_cause(
    caplog: pytest.LogCaptureFixture, count: int, partitions: str
) -> None:
    caplog.set_level(logging.WARNING, logger="kgroup.membership")
    async with scene(count=count) as on:
        member = await on.joined()
        on.go_down()
        lost = lambda: member.application.of_kind(ChangeKind.LOST)  # noqa: E731
        await until(lost, 2 * SESSION, "the member notices by itself")
    (line,) = (each.message for each in caplog.records if each.name == "kgroup.membership")
    assert line.endswith(f" lost partitions={partitions} cause={Cause.SESSION_EXPIRED.value}")


async def test_a_parked_join_goes_on_at_the_next_coordinator() -> None:
    async with scene(2) as on:
        member = await on.joined()
        await another_waits(on, member)
        member_id = member.member_id
        on.hang_up()
        on.group.move_to(2, resigned=False)
        await until(lambda: on.seen(JoinGroupRequest, 2), 5.0, "the move")
        assert joins(on)[-1].member_id == member_id
        await until(lambda: member.backend.membership.rebalances == 2, 5.0, "the round")
        assert member.application.of_kind(ChangeKind.LOST) == []


async def late_answer(on: Scene, member: Member) -> None:
    """1. a heartbeat is held; 2. the coordinator moves; 3. the old one expels the member."""
    held = on.answers.hold(HeartbeatRequest, node=1)
    await until(lambda: held.asked, 2 * HEARTBEAT, "a heartbeat is held")
    on.group.move_to(2)
    await until(lambda: on.seen(HeartbeatRequest, 2), SESSION, "the move")
    held.release(ErrorCode.UNKNOWN_MEMBER_ID)


async def test_a_late_answer_of_the_old_coordinator_changes_nothing() -> None:
    async with scene(2) as on:
        member = await on.joined()
        before = member.backend.membership
        await late_answer(on, member)
        await anyio.sleep(SESSION)
        assert same(before, member.backend.membership)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda on: on.answers.lose(OffsetFetchRequest),
        lambda on: on.answers.hang_up(OffsetFetchRequest),
        lambda on: on.answers.error(OffsetFetchRequest, ErrorCode.NOT_COORDINATOR),
        lambda on: on.answers.error(OffsetFetchRequest, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
async def test_offsets_are_read_although_the_coordinator_answers_badly_at_first(
    spoil: Callable[[Scene], Rule],
) -> None:
    async with scene() as on:
        member = await on.joined()
        claim = member.claim(0)
        await member.backend.commit({claim: OffsetAndMetadata(5)})
        spoil(on)
        read = await member.backend.committed({claim.tp}, timeout=20.0)
        assert read == {claim.tp: OffsetAndMetadata(5)}
