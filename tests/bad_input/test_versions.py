"""What a broker says it speaks (N28), and for how long it wants silence (N29)."""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.errors import NoBrokerError
from kgroup.testing import InProcessBroker
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import replace
from tests.bad_input.stage import check_pace, cluster, playing
from tests.bad_input.surgery import (
    ASKED,
    Kind,
    spliced,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Spoil = Callable[[InProcessBroker], object]


# -- N28: ApiVersions ----------------------------------------------------------------------------


def offer(broker: InProcessBroker, *rows: tuple[int, int, int], **scope: Any) -> None:
    """Have brokers offer these APIs: key, lowest and highest version."""
    keys = tuple(ApiVersion(api_key=k, min_version=low, max_version=high) for k, low, high in rows)
    answer = ApiVersionsResponse(api_keys=keys)
    scope.setdefault("times", None)
    broker.answers.rewrite(ApiVersionsRequest, lambda _, __: answer, **scope)


async def refused(broker: InProcessBroker) -> str:
    with pytest.raises(NoBrokerError) as caught:
        async with playing(broker, bootstrap_timeout=5.0):
            pass
    assert len(broker.requests) <= 20 * anyio.current_time()
    return str(caught.value)


def handshakes(broker: InProcessBroker) -> list[int]:
    """Return the versions in which ApiVersions was asked."""
    arrived = broker.requests
    return [each.version for each in arrived if isinstance(each.request, ApiVersionsRequest)]


async def test_n28_a_broker_that_offers_nothing_is_asked_once_more_and_then_refused() -> None:
    broker = cluster()
    offer(broker)
    assert "the broker offers no API" in await refused(broker)
    newest, lowest = handshakes(broker)[:2]
    assert newest > lowest == 0


async def test_n28_a_turned_range_is_none() -> None:
    broker = cluster()
    offer(broker, (ApiKey.METADATA, 5, 3), (ApiKey.API_VERSIONS, 0, 3))
    assert "METADATA: the broker does not offer it" in await refused(broker)


async def test_n28_ranges_below_zero_are_none() -> None:
    broker = cluster()
    offer(broker, (ApiKey.METADATA, -3, 13), (ApiKey.API_VERSIONS, 0, 3))
    assert "METADATA: the broker does not offer it" in await refused(broker)


async def test_n28_a_refusal_in_version_0_is_read_and_the_next_version_is_the_brokers() -> None:
    broker = cluster()
    older = struct.pack(">h i hhh", 35, 1, ApiKey.API_VERSIONS, 0, 2)

    def refuse(frame: bytes) -> bytes:
        return struct.pack(">i", 4 + len(older)) + frame[4:8] + older

    broker.answers.rewrite_bytes(ApiVersionsRequest, refuse)
    async with playing(broker) as play:
        await play.read_all()
        assert handshakes(broker)[:2][-1] == 2


async def test_n28_a_broker_that_refuses_every_version_is_left_after_the_lowest() -> None:
    broker = cluster()
    nothing = struct.pack(">h i", 35, 0)

    def refuse(frame: bytes) -> bytes:
        return struct.pack(">i", 4 + len(nothing)) + frame[4:8] + nothing

    broker.answers.rewrite_bytes(ApiVersionsRequest, refuse, times=None)
    error = await refused(broker)
    assert "refused, asked in version 0" in error
    assert handshakes(broker)[1] == 0


async def test_n28_a_hundred_thousand_apis_nobody_knows_cost_little_and_stop_nothing() -> None:
    broker = cluster()
    count = 100_000

    def flood(frame: bytes) -> bytes:
        rows = b"".join(struct.pack(">hhhx", 1000 + i % 30_000, 0, 9) for i in range(count))
        known = frame[11:]
        total = frame[10] - 1 + count + 1
        return spliced(frame[:10], 10, b"", 0) + varint(total) + rows + known

    def sized(frame: bytes) -> bytes:
        whole = flood(frame)
        return struct.pack(">i", len(whole) - 4) + whole[4:]

    broker.answers.rewrite_bytes(ApiVersionsRequest, sized)
    async with playing(broker) as play:
        tracemalloc.start()
        try:
            await play.read_all()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 16 * 7 * count + 2**20


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes((value & 0x7F | 0x80,)), value >> 7
    return out + bytes((value,))


async def test_n28_the_error_of_a_broker_without_a_needed_version_has_both_ranges() -> None:
    """A member that reads cannot go on without Fetch; it ends by name, and closes in order."""
    broker = cluster()

    def older(_: ApiVersionsRequest, answer: ApiVersionsResponse) -> ApiVersionsResponse:
        keys = tuple(
            replace(row, min_version=0, max_version=3) if row.api_key == ApiKey.FETCH else row
            for row in answer.api_keys
        )
        return replace(answer, api_keys=keys)

    broker.answers.rewrite(ApiVersionsRequest, older, times=None)
    async with playing(broker) as play:
        await play.read_for(5.0)
        errors = {str(each) for each in play.errors}
        assert any("FETCH: the broker speaks 0-3, kgroup speaks 4-" in each for each in errors)
        check_pace(play, 0.0)


# -- N29: throttles ------------------------------------------------------------------------------


def throttled(kind: Kind, milliseconds: int, times: int | None = None) -> Spoil:
    def throttle(_: object, answer: Any) -> Any:
        return replace(answer, throttle_time_ms=milliseconds)

    return lambda broker: broker.answers.rewrite(kind, throttle, times=times)


@pytest.mark.parametrize("kind", ASKED)
async def test_n29_a_throttle_below_zero_is_none(kind: Kind) -> None:
    broker = cluster()
    throttled(kind, -(2**31))(broker)
    async with playing(broker) as play:
        await play.read_all()
        await play.consumer.commit()
        assert anyio.current_time() < 1.0


@pytest.mark.parametrize("kind", ASKED)
async def test_n29_a_throttle_of_weeks_is_one_of_a_minute(kind: Kind) -> None:
    broker = cluster()
    throttled(kind, 2**31 - 1, times=1)(broker)
    async with playing(broker, bootstrap_timeout=70.0) as play:
        await play.read_all(within=200.0)
        await play.consumer.commit()
        assert anyio.current_time() < 125.0


async def test_n29_a_throttle_of_weeks_in_each_heartbeat_ends_no_session() -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        before = play.consumer.membership.generation
        throttled(HeartbeatRequest, 2**31 - 1)(broker)
        for _ in range(10):
            play.write()
            await play.read_for(6.0)
        await play.read_all()
        assert play.consumer.membership.generation == before
        assert play.broker.group("g").members
        beats = [e.at for e in broker.requests if isinstance(e.request, HeartbeatRequest)]
        assert beats[-1] - beats[-2] <= 10.0 / 3 + 1.0


@pytest.mark.parametrize("kind", [JoinGroupRequest, SyncGroupRequest])
async def test_n29_a_throttle_of_weeks_within_a_round_ends_no_session(kind: Kind) -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        throttled(kind, 2**31 - 1)(broker)
        generation = play.consumer.membership.generation
        assert generation is not None
        broker.group("g").rebalance()
        play.write()
        await play.read_for(30.0)
        await play.read_all()
        after = play.consumer.membership.generation
        assert after is not None
        assert after.member_id == generation.member_id
