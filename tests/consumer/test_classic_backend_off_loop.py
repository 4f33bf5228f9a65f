"""Large groups: the assignor of the leader runs in a thread, and delays nothing else."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from kgroup.assignors import BUILT_IN, GroupAssignment, GroupSubscription
from kgroup.errors import AssignorError
from kgroup.types import Leave, MemberState
from kgroup.wire.consumer_protocol import MemberSubscription, encode_subscription
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from tests.consumer.foreign import Foreign, led_by, raises
from tests.consumer.scene import Member, Scene, scene
from tests.contracts.application import until

PATIENT = {"session_timeout": 1e5, "rebalance_timeout": 1e6}
"""While a thread works and nothing else is to be done, virtual time runs on: give it room."""


class Gate:
    """An assignor that returns when its gate is opened; it counts concurrent calls."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.threads: list[int] = []
        self.daemons: list[bool] = []
        self.at_work = 0
        self.most_at_work = 0

    def __call__(self, group: GroupSubscription) -> GroupAssignment:
        self.threads.append(threading.get_ident())
        self.daemons.append(threading.current_thread().daemon)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            assert self.opened.wait(20.0), "nobody opened the gate"
            return BUILT_IN["range"].assign(group)
        finally:
            self.at_work -= 1


@asynccontextmanager
async def crowd(gate: Gate, **options: float) -> AsyncIterator[tuple[Scene, Member]]:
    """A member that leads a large group, and whose assignor works and does not return."""
    async with scene(count=500) as on:
        for number in range(40):
            on.peers.add(f"phantom-{number}", "t", assignor="foreign")
        member = await on.member(led_by(Foreign(gate), **{**PATIENT, **options}))
        await until(lambda: gate.threads, 1e5, "the assignor works")
        try:
            yield on, member
        finally:
            gate.opened.set()


@pytest.mark.slow
async def test_heartbeats_are_answered_while_the_assignor_of_a_large_group_works() -> None:
    """On the loop's own thread none would be sent before it returns."""
    gate = Gate()
    async with crowd(gate) as (on, _):
        before = len(on.seen(HeartbeatRequest))
        await until(lambda: len(on.seen(HeartbeatRequest)) >= before + 3, 1e5, "three heartbeats")
        assert on.seen(SyncGroupRequest) == []
        gate.opened.set()
        await until(lambda: on.seen(SyncGroupRequest), 1e5, "the assignment is sent")
        assert threading.get_ident() not in gate.threads


def more_than(on: Scene, count: int) -> Callable[[], bool]:
    return lambda: len(on.seen(JoinGroupRequest)) > count


@pytest.mark.slow
async def test_a_small_group_is_assigned_on_the_loop() -> None:
    """A thread costs more than the work, and a test of a small group has the same order always."""
    gate = Gate()
    gate.opened.set()
    async with scene() as on:
        await on.joined(led_by(Foreign(gate)))
        assert gate.threads == [threading.get_ident()]


async def threads_of(on: Scene) -> list[int]:
    """Return in which threads a leader's assignor was asked until the group is stable."""
    gate = Gate()
    gate.opened.set()
    member = await on.member(led_by(Foreign(gate), **PATIENT))
    await member.reaches(MemberState.STABLE, within=1e5)
    return gate.threads


@pytest.mark.slow
async def test_many_partitions_leave_the_loop_however_few_members_there_are() -> None:
    async with scene(count=3000) as on:
        assert threading.get_ident() not in await threads_of(on)


@pytest.mark.slow
async def test_long_subscriptions_leave_the_loop_however_few_partitions_there_are() -> None:
    async with scene() as on:
        on.peers.add("talks", "t", assignor="foreign")
        asked = MemberSubscription(topics=("t",), user_data=bytes(20_000))
        on.peers.replace_subscription("talks", encode_subscription(asked))
        assert threading.get_ident() not in await threads_of(on)


@pytest.mark.slow
async def test_an_error_in_the_thread_is_the_error_of_the_round() -> None:
    async with scene(count=3000) as on:
        member = await on.member(led_by(Foreign(raises), **PATIENT))
        await until(lambda: member.backend.membership.trouble, 1e5, "the round fails")
        trouble = member.backend.membership.trouble
        assert isinstance(trouble, AssignorError)
        assert "cannot divide 3000 partitions" in str(trouble)
        assert isinstance(trouble.__cause__, ValueError)


@pytest.mark.slow
async def test_a_round_that_is_over_waits_for_no_assignor_and_the_next_one_for_its_thread() -> None:
    """Rounds that began and ended while the thread worked have nothing computed for them."""
    gate = Gate()
    async with crowd(gate) as (on, member):
        for _ in range(3):
            on.group.rebalance()
            joined = len(on.seen(JoinGroupRequest))
            await until(more_than(on, joined), 1e5, "it joins")
            await member.reaches(MemberState.ASSIGNING, within=1e5)
            await anyio.sleep(10.0)
        assert len(gate.threads) == 1
        gate.opened.set()
        await member.reaches(MemberState.STABLE, within=1e5)
        assert len(gate.threads) == 2
        assert gate.most_at_work == 1


@pytest.mark.slow
async def test_an_assignor_that_takes_longer_than_a_round_may_fails_that_round_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = Gate()
    async with crowd(gate, rebalance_timeout=100.0) as (on, member):
        await until(lambda: member.backend.membership.trouble, 1e5, "the round fails")
        words = "assignor 'foreign' was not done after 100 s, which is as long as a round waits"
        assert str(member.backend.membership.trouble).startswith(words)
        assert words in caplog.text
        assert on.seen(SyncGroupRequest) == []
        assert member.error is None
        gate.opened.set()
        await member.reaches(MemberState.STABLE, within=1e5)
        assert member.backend.membership.trouble is None


@pytest.mark.slow
async def test_a_member_leaves_while_its_assignor_works() -> None:
    gate = Gate()
    async with crowd(gate) as (on, member):
        began = anyio.current_time()
        await member.backend.leave(Leave.LEAVE, "enough", timeout=1000.0)
        await member.ends(within=1000.0)
        assert member.error is None
        assert all(each.client_id.startswith("phantom") for each in on.group.members)
        assert anyio.current_time() - began < 100.0
        assert gate.at_work == 1


@pytest.mark.slow
async def test_a_member_is_cancelled_while_its_assignor_works() -> None:
    gate = Gate()
    async with crowd(gate) as (_, member):
        member.scope.cancel()
        await member.ends(within=100.0)
        assert member.error is None
        assert gate.at_work == 1


@pytest.mark.slow
async def test_a_process_may_end_while_an_assignor_works() -> None:
    """One that never returns would keep the process for ever, whatever was closed."""
    gate = Gate()
    async with crowd(gate):
        assert gate.daemons == [True]
