"""FindCoordinator answers that lead nowhere (N14): a pause, another search, and no storm."""

from itertools import pairwise

import anyio
import pytest

from kgroup.errors import KGroupError
from kgroup.net.coordinator import ask_node, find_coordinator, find_coordinator_request
from kgroup.testing.broker.server.faults import Rule
from kgroup.types import MemberState
from kgroup.wire.messages import (
    ApiVersionsRequest,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
)
from tests.consumer.scene import SESSION, Scene, partitions, scene
from tests.contracts.application import until

pytestmark = pytest.mark.slow  # each takes tens of milliseconds, many times a quick test

ALL = partitions(0, 1, 2, 3)


def named(node_id: int, host: str, port: int, key: str = "g") -> FindCoordinatorResponse:
    row = Coordinator(key=key, node_id=node_id, host=host, port=port)
    return FindCoordinatorResponse(coordinators=(row,))


def mislead(on: Scene, answer: FindCoordinatorResponse) -> Rule:
    """Have every broker name something else, until the rule is cancelled."""
    return on.answers.rewrite(FindCoordinatorRequest, lambda *_: answer, times=None)


def speak_http(on: Scene, node_id: int) -> None:
    """Put a web server in a broker's place."""
    greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    on.answers.rewrite_bytes(ApiVersionsRequest, lambda _: greeting, node=node_id, times=None)


def check_pauses(on: Scene) -> None:
    """Searches must be apart from each other, further and further."""
    searches = on.seen(FindCoordinatorRequest)
    pauses = [later.at - sooner.at for sooner, later in pairwise(searches)]
    assert len(searches) >= 5
    assert all(pause >= 0.05 for pause in pauses)
    assert sum(pauses[5:]) >= 0.75 * len(pauses[5:])


@pytest.mark.parametrize(
    "answer",
    [
        named(1, "broker-1", 0),
        named(1, "broker-1", 70_000),
        named(1, "broker-1", -1),
        named(1, "", 9092),
        named(-1, "broker-1", 9092),
        named(-7, "broker-1", 9092),
        named(1, "broker-1", 9092, key="another group"),
        FindCoordinatorResponse(coordinators=named(1, "broker-1", 9092).coordinators * 2),
        FindCoordinatorResponse(),
    ],
    ids=["port 0", "70000", "-1", "no host", "node -1", "node -7", "other", "double", "empty"],
)
async def test_a_coordinator_that_cannot_be_one_is_looked_for_again(
    answer: FindCoordinatorResponse,
) -> None:
    """N14."""
    async with scene() as on:
        misleading = mislead(on, answer)
        member = await on.member()
        await anyio.sleep(20.0)
        assert member.error is None
        assert not on.seen(JoinGroupRequest)
        check_pauses(on)
        misleading.cancel()
        await member.owns(ALL)


async def test_a_broker_that_names_itself_and_is_none_is_asked_ever_more_seldom() -> None:
    """N14: pointing to itself."""
    async with scene(2) as on:
        on.group.move_to(2)
        misleading = mislead(on, named(1, "broker-1", 9092))
        member = await on.member()
        await anyio.sleep(20.0)
        assert member.error is None
        assert len(on.seen(JoinGroupRequest, 1)) >= 5
        check_pauses(on)
        misleading.cancel()
        await member.owns(ALL)


@pytest.mark.parametrize("dead", ["refuses", "mute", "not kafka", "unknown host"])
async def test_a_coordinator_at_a_dead_or_foreign_port_is_looked_for_again(dead: str) -> None:
    """N14: what was proved before stays good meanwhile."""
    async with scene(2) as on:
        member = await on.joined()
        before = member.backend.membership
        match dead:
            case "refuses":
                on.broker.node(2).kill()
            case "mute":
                on.mute(2)
            case "not kafka":
                speak_http(on, 2)
            case _:
                pass
        misleading = mislead(
            on, named(2, "nowhere" if dead == "unknown host" else "broker-2", 9092)
        )
        on.hang_up()
        await anyio.sleep(SESSION / 3)
        assert member.backend.membership.claims == before.claims
        beats = len(on.seen(HeartbeatRequest, 1))
        misleading.cancel()
        found = lambda: len(on.seen(HeartbeatRequest, 1)) > beats  # noqa: E731
        await until(found, SESSION, "the real coordinator is found")
        now = member.backend.membership
        assert (now.state, now.claims) == (MemberState.STABLE, before.claims)
        assert now.generation == before.generation


async def test_who_asks_a_coordinator_that_is_no_kafka_hears_what_it_looks_like() -> None:
    """N14, with the hint of N2."""
    async with scene(2) as on:
        member = await on.joined()
        speak_http(on, 2)
        mislead(on, named(2, "broker-2", 9092))
        found = await find_coordinator(member.cluster, "g", timeout=1.0)
        with pytest.raises(KGroupError, match="web server"):
            await ask_node(member.cluster, found.node_id, find_coordinator_request("g"))
