"""One connection: every way a broker or the network can break it."""

import anyio
import pytest

from kgroup.codes import ApiKey
from kgroup.errors import (
    ClosedError,
    ConnectionLostError,
    DecodeError,
)
from kgroup.wire.frames import encode_response
from kgroup.wire.messages import HeartbeatRequest
from tests.net.stage import BEAT, OK, beat, connected, echoing, new_connection
from tests.search.scripted.broker import (
    Cut,
    HungUp,
    Lost,
    Misnumbered,
    Raw,
    ScriptedBroker,
)


@pytest.fixture
def broker() -> ScriptedBroker:
    return echoing()


# -- connections that break -------------------------------------------------------------------


@pytest.mark.parametrize("after", range(16))
async def test_an_answer_cut_at_any_byte_loses_the_connection(
    broker: ScriptedBroker, after: int
) -> None:
    assert after < len(encode_response(OK, ApiKey.HEARTBEAT, 4, 1)) == 16
    broker.once(HeartbeatRequest, Cut(OK, after))
    async with connected(broker) as connection:
        with pytest.raises(ConnectionLostError, match="the broker closed the connection"):
            await connection.request(BEAT, 5)
        assert not connection.ended_healthy
    async with connected(broker) as again:
        assert (await again.request(beat(9), 5)).error_code == 9


async def test_a_cut_inside_an_answer_is_said_to_be_one(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Cut(OK, 6))
    async with connected(broker) as connection:
        with pytest.raises(ConnectionLostError, match="in the middle of an answer"):
            await connection.request(BEAT, 5)


async def test_an_answer_under_another_number_closes_the_connection_for_all_in_flight(
    broker: ScriptedBroker,
) -> None:
    failures: list[Exception] = []

    async def ask() -> None:
        try:
            await connection.request(BEAT, 60)
        except DecodeError as error:
            failures.append(error)

    broker.once(HeartbeatRequest, Misnumbered(OK, 5), OK)
    async with connected(broker) as connection, anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
    assert len(failures) == 2
    assert "correlation id 6, but 1 was to come next" in str(failures[0])


async def test_a_lost_answer_shows_as_a_wrong_number_at_the_next_one(
    broker: ScriptedBroker,
) -> None:
    broker.once(HeartbeatRequest, Lost())
    async with connected(broker) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(beat(1), 3)
        with pytest.raises(DecodeError, match="correlation id"):
            await connection.request(beat(2), 3)


async def test_an_answer_nobody_asked_for_closes_the_connection(broker: ScriptedBroker) -> None:
    async with connected(broker) as connection:
        await connection.request(BEAT, 5)
        broker.connections()[0].push(encode_response(OK, ApiKey.HEARTBEAT, 4, 99))
        await anyio.wait_all_tasks_blocked()
        assert isinstance(connection.failure, DecodeError)
        assert "nothing was asked" in str(connection.failure)


async def test_an_answer_sent_twice_closes_the_connection(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Raw(2 * encode_response(OK, ApiKey.HEARTBEAT, 4, 1)))
    async with connected(broker) as connection:
        assert (await connection.request(BEAT, 5)).error_code == 0
        await anyio.wait_all_tasks_blocked()
        assert isinstance(connection.failure, DecodeError)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xff\xff\xff", "negative"),
        (b"\x7f\xff\xff\xff", "over the limit"),
        (b"HTTP/1.1 400 Bad Request\r\n", "web server"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "TLS"),
        (b"\x00\x00\x00\x02\x00\x00", "only 2 bytes"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x00", "Heartbeat"),
    ],
)
async def test_garbage_closes_the_connection_and_says_what_it_looks_like(
    broker: ScriptedBroker, data: bytes, words: str
) -> None:
    broker.once(HeartbeatRequest, Raw(data))
    async with connected(broker) as connection:
        with pytest.raises(DecodeError, match=words):
            await connection.request(BEAT, 5)


async def test_a_frame_cut_off_and_then_silence_ends_in_a_time_out(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, Raw(b"\x00\x00\x00\x20abc"))
    async with connected(broker) as connection:
        with pytest.raises(TimeoutError):
            await connection.request(BEAT, 5)


async def test_a_reset_fails_everybody_in_flight(broker: ScriptedBroker) -> None:
    broker.hold(HeartbeatRequest)
    async with connected(broker) as connection, anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(ConnectionLostError):
                await connection.request(BEAT, 60)

        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        broker.hang_up(reset=True)


async def test_no_request_is_taken_after_the_end(broker: ScriptedBroker) -> None:
    broker.once(HeartbeatRequest, HungUp())
    async with connected(broker) as connection:
        for _ in range(2):
            with pytest.raises(ConnectionLostError):
                await connection.request(BEAT, 5)


async def test_cancelling_the_owner_fails_callers_and_closes_the_socket(
    broker: ScriptedBroker,
) -> None:
    broker.hold(HeartbeatRequest)
    connection = new_connection(broker)

    async def ask() -> None:
        with pytest.raises(ClosedError):
            await connection.request(BEAT, 60)

    async with anyio.create_task_group() as callers:
        callers.start_soon(ask)
        async with anyio.create_task_group() as owner:
            owner.start_soon(connection.run)
            await anyio.wait_all_tasks_blocked()
            owner.cancel_scope.cancel()
    assert not broker.connections()


# -- dialling ---------------------------------------------------------------------------------


async def test_a_refused_dial_says_what_the_system_said(broker: ScriptedBroker) -> None:
    broker.refuses = True
    async with connected(broker) as connection:
        with pytest.raises(ConnectionLostError, match="refuses connections"):
            await connection.ready()


async def test_a_dial_without_an_answer_ends_after_the_connect_timeout(
    broker: ScriptedBroker,
) -> None:
    broker.deaf = True
    async with connected(broker, connect_timeout=10.0) as connection:
        with pytest.raises(ConnectionLostError, match="not connected within 10 s"):
            await connection.ready()


async def test_a_tarpit_ends_after_the_connect_timeout(broker: ScriptedBroker) -> None:
    broker.mute = True
    async with connected(broker, connect_timeout=10.0) as connection:
        with pytest.raises(ConnectionLostError, match="no answer to API_VERSIONS within 10 s"):
            await connection.ready()
        assert anyio.current_time() == pytest.approx(10)


async def test_a_caller_may_run_out_of_time_while_the_connection_is_made(
    broker: ScriptedBroker,
) -> None:
    broker.mute = True
    async with connected(broker, connect_timeout=10.0) as connection:
        with pytest.raises(TimeoutError, match="not connected within 2 s"):
            await connection.request(BEAT, 2)
        assert connection.failure is None
