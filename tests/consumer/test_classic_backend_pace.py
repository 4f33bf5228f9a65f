"""No storm: whatever is answered for ever, a member asks at most 20 times a second."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import anyio
import pytest

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import KGroupError
from kgroup.machine.reactions import GROUP_APIS, REACTIONS
from kgroup.testing.scripted import Cut, HungUp, ScriptedBroker
from kgroup.types import OffsetAndMetadata
from kgroup.wire.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest
from tests.consumer.stage import Member, Scene, scene, settings

pytestmark = pytest.mark.slow

SECONDS = 6.0
MOST = 20.0
UNHEARD_OF = 9999


def codes(api: ApiKey) -> Iterator[int]:
    """One code for every reaction of the API, one that nobody has decided, one nobody knows."""
    yield from {reaction: code for code, reaction in REACTIONS[api].items()}.values()
    yield from (ErrorCode.NETWORK_EXCEPTION, UNHEARD_OF)


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
        member = await on.joined(settings())
        before = len(on.all_seen()) + dials(on)
        spoil(on)
        on.group.rebalance()
        tasks.start_soon(busy, member)
        await anyio.sleep(SECONDS)
        tasks.cancel_scope.cancel()
        spoken = len(on.all_seen()) + dials(on) - before
    return spoken / SECONDS


def dials(on: Scene) -> int:
    return sum(len(broker.dialled_at) for broker in on.cluster.brokers)


def always(api: ApiKey, code: int) -> Callable[[Scene], None]:
    def spoil(on: Scene) -> None:
        on.group.errors[api] = code
        if api is ApiKey.FIND_COORDINATOR:
            on.cluster.coordinator_error = code
            on.cluster.coordinator = 2

    return spoil


@pytest.mark.parametrize("api", GROUP_APIS, ids=lambda api: api.name)
async def test_a_permanent_error_causes_no_storm(api: ApiKey) -> None:
    rates = {code: await rate(always(api, code)) for code in codes(api)}
    assert {code: each for code, each in rates.items() if each > MOST} == {}


def refuse(broker: ScriptedBroker) -> None:
    broker.go_down()


def fall_silent(broker: ScriptedBroker) -> None:
    broker.mute = True


def hang_up_on_joins(broker: ScriptedBroker) -> None:
    broker.on(JoinGroupRequest, HungUp())


def cut_heartbeats(broker: ScriptedBroker) -> None:
    broker.on(HeartbeatRequest, Cut(HeartbeatResponse(), 5))


@pytest.mark.parametrize("spoil", [refuse, fall_silent, hang_up_on_joins, cut_heartbeats])
async def test_brokers_that_fail_for_ever_are_left_alone(
    spoil: Callable[[ScriptedBroker], None],
) -> None:
    def all_of_them(on: Scene) -> None:
        for broker in on.cluster.brokers:
            spoil(broker)

    assert await rate(all_of_them) <= MOST
