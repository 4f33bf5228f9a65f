"""One connection: order, deadlines and cancellation."""

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.errors import (
    ConnectionLostError,
)
from kgroup.wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    HeartbeatResponse,
)
from tests.net.stage import BEAT, OK, Heard, beat, connected, echoing
from tests.search.scripted.broker import (
    Delayed,
    ScriptedBroker,
)


@pytest.fixture
def broker() -> ScriptedBroker:
    return echoing()


# -- order and bytes --------------------------------------------------------------------------


async def test_requests_in_flight_get_their_own_answers_in_order(broker: ScriptedBroker) -> None:
    got: dict[int, int] = {}

    async def ask(number: int) -> None:
        got[number] = (await connection.request(beat(number), 5)).error_code

    async with connected(broker) as connection, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(ask, number)
    assert got == {number: number for number in range(20)}


async def test_an_answer_in_one_byte_pieces_reads_like_a_whole_one(broker: ScriptedBroker) -> None:
    broker.piece = 1
    async with connected(broker) as connection:
        assert (await connection.request(beat(7), 5)).error_code == 7


async def test_a_request_waits_behind_the_parked_one_before_it(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Delayed(OK, 30))
    async with connected(broker) as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.request, beat(1), 60)
        await anyio.wait_all_tasks_blocked()
        await connection.request(beat(2), 60)
        assert anyio.current_time() == pytest.approx(30)


async def test_the_client_id_and_the_software_are_sent_to_the_broker(
    broker: ScriptedBroker,
) -> None:
    async with connected(broker, client_id="till-7", software_version="1.2") as connection:
        await connection.request(BEAT, 5)
    asked = broker.requests(ApiVersionsRequest)[0]
    assert (asked.client_software_name, asked.client_software_version) == ("kgroup", "1.2")
    assert {entry.client_id for entry in broker.seen} == {"till-7"}


# -- deadlines and cancellation ---------------------------------------------------------------


async def test_a_request_without_an_answer_times_out(broker: ScriptedBroker) -> None:
    held = broker.hold(HeartbeatRequest)
    async with connected(broker) as connection:
        with pytest.raises(TimeoutError, match=r"HEARTBEAT to node 1 at broker-1:9092.* 3 s"):
            await connection.request(BEAT, 3)
        assert anyio.current_time() == pytest.approx(3)
        assert held.asked == BEAT


async def test_a_late_answer_after_a_time_out_is_dropped_and_the_next_one_fits(
    broker: ScriptedBroker,
) -> None:
    broker.once(HeartbeatRequest, Delayed(HeartbeatResponse(error_code=1), 10))
    async with connected(broker) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(beat(1), 3)
        assert (await connection.request(beat(2), 20)).error_code == 2
        assert connection.failure is None


async def test_a_cancelled_caller_leaves_the_connection_usable(broker: ScriptedBroker) -> None:
    held = broker.hold(HeartbeatRequest)
    async with connected(broker) as connection:
        with anyio.move_on_after(1):
            await connection.request(beat(1), 60)
        held.release(HeartbeatResponse(error_code=1))
        assert (await connection.request(beat(2), 5)).error_code == 2


async def test_a_request_given_up_before_it_was_written_is_never_written(
    broker: ScriptedBroker,
) -> None:
    broker.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=20_000))
    async with connected(broker) as connection:
        await connection.request(beat(1), 5)
        with anyio.move_on_after(2):
            await connection.request(beat(2), 5)
        await connection.request(beat(3), 5)
    assert [request.generation_id for request in broker.requests(HeartbeatRequest)] == [1, 3]


async def test_a_connection_that_is_silent_for_the_request_timeout_is_given_up(
    broker: ScriptedBroker,
) -> None:
    broker.hold(HeartbeatRequest)
    async with connected(broker, request_timeout=30.0) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(BEAT, 30)
        assert isinstance(connection.failure, ConnectionLostError)
        assert "no answer to HEARTBEAT within 30 s" in str(connection.failure)


async def test_a_short_patience_does_not_cost_the_connection(broker: ScriptedBroker) -> None:
    broker.hold(HeartbeatRequest)
    async with connected(broker, request_timeout=30.0) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(BEAT, 29)
        assert connection.failure is None


async def test_a_broker_that_takes_no_bytes_loses_the_connection(broker: ScriptedBroker) -> None:
    async with connected(broker, request_timeout=30.0) as connection:
        await connection.ready()
        broker.jams = True
        with pytest.raises(ConnectionLostError, match="took no bytes for 30 s"):
            await connection.request(BEAT, 60)


async def test_an_idle_connection_closes_itself(broker: ScriptedBroker) -> None:
    async with connected(broker, connections_max_idle=540.0) as connection:
        await connection.request(BEAT, 5)
        await anyio.sleep(539)
        assert broker.connections()
        await anyio.sleep(2)
        assert not broker.connections()
        assert connection.ended_healthy


async def test_a_parked_request_keeps_an_idle_connection_open(broker: ScriptedBroker) -> None:
    held = broker.hold(HeartbeatRequest)
    patient = connected(broker, connections_max_idle=60.0)
    async with patient as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(connection.request, BEAT, 900)
        await anyio.sleep(800)
        assert connection.failure is None
        held.release(OK)


async def test_a_connection_whose_callers_have_all_left_closes_when_idle(
    broker: ScriptedBroker,
) -> None:
    broker.hold(HeartbeatRequest)
    async with connected(broker, connections_max_idle=60.0) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(BEAT, 5)
        await anyio.sleep(130)
        assert connection.failure is not None


# -- trace ------------------------------------------------------------------------------------


async def test_the_trace_hears_each_step_of_a_connection(broker: ScriptedBroker) -> None:
    heard = Heard()
    async with connected(broker, trace=heard) as connection:
        await connection.request(BEAT, 5)
    assert heard.opened == [connection.identity]
    assert [exchange.api for exchange in heard.asked] == [ApiKey.API_VERSIONS, ApiKey.HEARTBEAT]
    assert [exchange.version for exchange, _ in heard.answered] == [4, 4]
    assert [identity for identity, _ in heard.closed] == [connection.identity]


async def test_the_trace_hears_an_answer_that_came_too_late(broker: ScriptedBroker) -> None:
    heard = Heard()
    broker.once(HeartbeatRequest, Delayed(OK, 10))
    async with connected(broker, trace=heard) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(BEAT, 3)
        await anyio.sleep(10)
    assert heard.answered[-1][0].request == BEAT
