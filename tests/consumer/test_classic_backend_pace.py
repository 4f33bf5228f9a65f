"""No storm: a member sends at most 20 requests a second, whatever fails for good."""

from collections.abc import Callable
from contextlib import suppress

import anyio
import pytest

from kgroup.errors import KGroupError
from kgroup.types import OffsetAndMetadata
from kgroup.wire.messages import HeartbeatRequest, JoinGroupRequest
from tests.consumer.scene import Member, Scene, scene, settings
from tests.consumer.wires import Wires

pytestmark = pytest.mark.slow

SECONDS = 6.0
MOST = 20.0


async def busy(member: Member) -> None:
    """Commit, read, and do it again soon."""
    while True:
        membership = member.backend.membership
        await member.backend.commit({claim: OffsetAndMetadata(1) for claim in membership.claims})
        with suppress(KGroupError, TimeoutError):
            await member.backend.committed(membership.partitions, timeout=5.0)
        await anyio.sleep(0.5)


async def rate(spoil: Callable[[Scene], None]) -> float:
    """Return how often a busy member speaks or dials per second once something is spoilt."""
    spoken = 0
    async with scene(2, latency=0.001) as on, anyio.create_task_group() as tasks:
        on.dial = wires = Wires(on.broker.dial)
        member = await on.joined(settings())
        before = len(on.all_seen()) + wires.dialled
        spoil(on)
        if on.group.coordinator is not None:
            on.group.rebalance()
        tasks.start_soon(busy, member)
        await anyio.sleep(SECONDS)
        tasks.cancel_scope.cancel()
        spoken = len(on.all_seen()) + wires.dialled - before
    return spoken / SECONDS


def refuse(on: Scene) -> None:
    for node_id in (1, 2):
        on.broker.node(node_id).kill()


def fall_silent(on: Scene) -> None:
    for node_id in (1, 2):
        on.mute(node_id)


def hang_up_on_joins(on: Scene) -> None:
    on.answers.hang_up(JoinGroupRequest, times=None)


def cut_heartbeats(on: Scene) -> None:
    on.answers.cut(HeartbeatRequest, after=5, times=None)


@pytest.mark.parametrize("spoil", [refuse, fall_silent, hang_up_on_joins, cut_heartbeats])
async def test_brokers_that_fail_for_ever_are_left_alone(
    spoil: Callable[[Scene], None],
) -> None:
    assert await rate(spoil) <= MOST
