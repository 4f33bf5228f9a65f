"""One connection: which versions are spoken on it, and when it must be silent."""

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.errors import (
    ConnectionLostError,
    LocalProtocolError,
    UnsupportedVersionError,
)
from kgroup.net.settings import Lane
from kgroup.wire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    MemberIdentity,
)
from tests.net.stage import BEAT, OK, beat, connected, echoing
from tests.search.scripted.broker import (
    Delayed,
    ScriptedBroker,
)


@pytest.fixture
def broker() -> ScriptedBroker:
    return echoing()


# -- versions ---------------------------------------------------------------------------------


async def test_the_highest_common_version_is_spoken(broker: ScriptedBroker) -> None:
    broker.versions = {**broker.versions, ApiKey.HEARTBEAT: (0, 3)}
    async with connected(broker) as connection:
        await connection.request(BEAT, 5)
    assert broker.seen_of(HeartbeatRequest)[0].version == 3


async def test_an_older_broker_is_asked_again_in_its_own_version(broker: ScriptedBroker) -> None:
    broker.versions = {**broker.versions, ApiKey.API_VERSIONS: (0, 2)}
    async with connected(broker) as connection:
        await connection.request(BEAT, 5)
    assert [entry.version for entry in broker.seen_of(ApiVersionsRequest)] == [2]


async def test_versions_are_negotiated_anew_on_each_connection(broker: ScriptedBroker) -> None:
    for highest in (4, 1):
        broker.versions = {**broker.versions, ApiKey.HEARTBEAT: (0, highest)}
        async with connected(broker) as connection:
            await connection.request(BEAT, 5)
    assert [entry.version for entry in broker.seen_of(HeartbeatRequest)] == [4, 1]


async def test_an_api_the_broker_lacks_fails_its_caller_only(broker: ScriptedBroker) -> None:
    broker.versions = {
        api: both for api, both in broker.versions.items() if api != ApiKey.FIND_COORDINATOR
    }
    async with connected(broker) as connection:
        with pytest.raises(UnsupportedVersionError, match="FIND_COORDINATOR: the broker does not"):
            await connection.request(FindCoordinatorRequest(coordinator_keys=("g",)), 5)
        assert (await connection.request(beat(4), 5)).error_code == 4


async def test_a_field_the_spoken_version_lacks_fails_its_caller_only(
    broker: ScriptedBroker,
) -> None:
    broker.versions = {**broker.versions, ApiKey.HEARTBEAT: (0, 2)}
    static = HeartbeatRequest(
        group_id="g", generation_id=1, member_id="m", group_instance_id="till-7"
    )
    async with connected(broker) as connection:
        with pytest.raises(UnsupportedVersionError, match="group_instance_id"):
            await connection.request(static, 5)
        assert (await connection.request(beat(4), 5)).error_code == 4


async def test_a_value_that_fits_no_field_fails_its_caller_only(broker: ScriptedBroker) -> None:
    async with connected(broker) as connection:
        with pytest.raises(LocalProtocolError):
            await connection.request(beat(2**40), 5)
        assert (await connection.request(beat(4), 5)).error_code == 4


async def test_a_refusal_in_the_handshake_is_the_reason_everybody_hears(
    broker: ScriptedBroker,
) -> None:
    """As one that was lost: what a broker cannot do now, it may in the next connection."""
    broker.once(ApiVersionsRequest, ApiVersionsResponse(error_code=42, api_keys=()))
    async with connected(broker) as connection:
        with pytest.raises(ConnectionLostError, match="INVALID_REQUEST"):
            await connection.request(BEAT, 5)


async def test_an_empty_list_of_versions_is_asked_for_once_more_and_then_refused(
    broker: ScriptedBroker,
) -> None:
    broker.on(ApiVersionsRequest, ApiVersionsResponse(api_keys=()))
    async with connected(broker) as connection:
        with pytest.raises(UnsupportedVersionError, match="offers no API"):
            await connection.request(BEAT, 5)
    assert [entry.version for entry in broker.seen] == [4, 0]


async def test_an_older_broker_answers_in_the_newest_layout_all_the_same(
    broker: ScriptedBroker,
) -> None:
    broker.versions = {**broker.versions, ApiKey.FIND_COORDINATOR: (0, 3)}
    broker.on(FindCoordinatorRequest, FindCoordinatorResponse(node_id=3, host="c", port=9))
    async with connected(broker) as connection:
        answer = await connection.request(FindCoordinatorRequest(coordinator_keys=("g",)), 5)
    (row,) = answer.coordinators
    assert (row.key, row.node_id, row.host, row.port) == ("g", 3, "c", 9)
    assert broker.requests(FindCoordinatorRequest)[0].key == "g"


async def test_an_older_broker_cannot_let_two_members_leave_at_once(
    broker: ScriptedBroker,
) -> None:
    broker.versions = {**broker.versions, ApiKey.LEAVE_GROUP: (0, 2)}
    members = (MemberIdentity(member_id="a"), MemberIdentity(member_id="b"))
    async with connected(broker) as connection:
        with pytest.raises(UnsupportedVersionError, match="one at a time, not 2"):
            await connection.request(LeaveGroupRequest(group_id="g", members=members), 5)


# -- throttle ---------------------------------------------------------------------------------


async def test_nothing_is_written_until_a_throttle_has_passed(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=10_000))
    async with connected(broker) as connection:
        await connection.request(beat(1), 5)
        await connection.request(beat(2), 5)
    first, second = broker.seen_of(HeartbeatRequest)
    assert second.at - first.at == pytest.approx(10)


async def test_what_is_in_flight_completes_during_a_throttle(broker: ScriptedBroker) -> None:
    broker.once(
        HeartbeatRequest, Delayed(HeartbeatResponse(throttle_time_ms=10_000), 1), Delayed(OK, 1)
    )
    async with connected(broker) as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.request, beat(1), 5)
        tasks.start_soon(connection.request, beat(2), 5)
    assert anyio.current_time() == pytest.approx(1)


@pytest.mark.parametrize(("asked", "silence"), [(-5_000, 0.0), (2**31 - 1, 60.0)])
async def test_an_absurd_throttle_is_bounded(
    broker: ScriptedBroker, asked: int, silence: float
) -> None:
    broker.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=asked))
    async with connected(broker) as connection:
        await connection.request(beat(1), 5)
        started = anyio.current_time()
        await connection.request(beat(2), 5)
        assert anyio.current_time() - started == pytest.approx(silence)


async def test_an_older_version_that_names_a_throttle_asks_for_no_silence(
    broker: ScriptedBroker,
) -> None:
    broker.versions = {**broker.versions, ApiKey.HEARTBEAT: (0, 1)}
    broker.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=10_000))
    async with connected(broker) as connection:
        await connection.request(beat(1), 5)
        await connection.request(beat(2), 5)
    assert anyio.current_time() == pytest.approx(0)


async def test_a_throttle_does_not_use_up_the_time_of_waiting_callers(
    broker: ScriptedBroker,
) -> None:
    broker.once(
        HeartbeatRequest,
        HeartbeatResponse(throttle_time_ms=20_000),
        Delayed(HeartbeatResponse(), 4),
    )
    async with connected(broker) as connection:
        await connection.request(beat(1), 5)
        await connection.request(beat(2), 5)
    assert anyio.current_time() == pytest.approx(24)


async def test_a_throttle_gives_more_time_to_what_is_in_flight(broker: ScriptedBroker) -> None:
    broker.once(
        HeartbeatRequest, Delayed(HeartbeatResponse(throttle_time_ms=20_000), 1), Delayed(OK, 15)
    )
    async with connected(broker) as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.request, beat(1), 5)
        tasks.start_soon(connection.request, beat(2), 5)
    assert anyio.current_time() == pytest.approx(15)


@pytest.mark.parametrize(
    ("lane", "silence"),
    [(Lane.JOIN, 5.0), (Lane.HEARTBEAT, 5.0), (Lane.FETCH, 20.0), (Lane.CONTROL, 20.0)],
)
async def test_where_a_membership_lives_a_throttle_has_a_shorter_bound(
    broker: ScriptedBroker, lane: Lane, silence: float
) -> None:
    """N29: a session ends when nothing is heard of a member."""
    broker.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=20_000))
    async with connected(broker, lane=lane, group_silence=5.0) as connection:
        await connection.request(beat(1), 5)
        started = anyio.current_time()
        await connection.request(beat(2), 5)
        assert anyio.current_time() - started == pytest.approx(silence)
