"""Connections in memory: order of answers, exact time, and what a broker does to a connection."""

import time

import anyio
import pytest
from anyio.abc import ByteStream

from kgroup.codes import ErrorCode
from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)

pytestmark = pytest.mark.anyio

PATIENCE = 10.0


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )


async def answer_to_join(stream: ByteStream) -> JoinGroupResponse:
    splitter = FrameSplitter()
    while not (frames := splitter.feed(await stream.receive())):
        pass
    return decode_response(JoinGroupRequest, 3, frames[0])[1]


async def test_a_join_is_answered_exactly_when_the_initial_delay_is_over() -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=3.0))
    stream = await broker.dial(*broker.bootstrap[0])
    await anyio.sleep(1)
    await stream.send(encode_request(join(), 3, 7, "a"))
    answer = await answer_to_join(stream)
    assert answer.generation_id == 1
    assert anyio.current_time() == pytest.approx(4.0, abs=1e-6)


async def test_a_heartbeat_behind_a_parked_join_waits_for_its_answer() -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=3.0))
    stream = await broker.dial(*broker.bootstrap[0])
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    await stream.send(encode_request(join(), 3, 1, "a") + encode_request(beat, 3, 2, "a"))
    frames: list[memoryview] = []
    splitter = FrameSplitter()
    while len(frames) < 2:
        frames += splitter.feed(await stream.receive())
    numbers = [int.from_bytes(frame[:4], "big") for frame in frames]
    assert numbers == [1, 2]
    assert anyio.current_time() == pytest.approx(3.0, abs=1e-6)


async def test_another_client_keeps_watch_when_the_one_that_did_gives_up() -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=3.0))
    first, second = [await broker.dial(*broker.bootstrap[0]) for _ in range(2)]

    async def give_up() -> None:
        with anyio.move_on_after(1):
            await first.receive()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(give_up)
            await second.send(encode_request(join(), 3, 1, "a"))
            await answer_to_join(second)
            assert anyio.current_time() == pytest.approx(3.0, abs=1e-6)


async def test_a_parked_join_is_answered_when_the_coordinator_loads_anew() -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=3.0))
    stream = await broker.dial(*broker.bootstrap[0])
    await stream.send(encode_request(join(), 3, 1, "a"))
    await anyio.sleep(1)
    broker.group("g").load(2)
    answer = await answer_to_join(stream)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert anyio.current_time() == pytest.approx(1.0, abs=1e-6)


async def test_time_goes_on_in_memory_after_real_time_on_sockets() -> None:
    broker = InProcessBroker()
    await broker.dial(*broker.bootstrap[0])
    with broker.serve():
        deadline = time.monotonic() + PATIENCE
        while broker.core.context.agenda.now < 0.01:
            assert time.monotonic() < deadline, "time stands still on sockets"
            time.sleep(0.001)  # noqa: ASYNC251  # the thread of the sockets goes on
    before = broker.core.context.agenda.now
    await anyio.sleep(1)
    assert broker.core.context.agenda.now - before == pytest.approx(1.0, abs=1e-6)


async def test_an_offset_that_is_set_by_hand_ages_from_then_on() -> None:
    settings = BrokerSettings(offsets_retention=100.0, offsets_retention_check=10.0)
    group = InProcessBroker(topics={"orders": 1}, settings=settings).group("g")
    await anyio.sleep(95)
    group.commit({("orders", 0): 5})
    await anyio.sleep(90)
    assert group.committed == {("orders", 0): 5}
    await anyio.sleep(20)
    assert (group.state, group.committed) == ("Dead", {})


async def test_a_broker_that_stops_answers_parked_joins_before_it_closes() -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=3.0))
    stream = await broker.dial(*broker.bootstrap[0])
    await stream.send(encode_request(join(), 3, 1, "a"))
    broker.node(1).stop()
    assert (await answer_to_join(stream)).error_code == ErrorCode.NOT_COORDINATOR
    with pytest.raises(anyio.EndOfStream):
        await stream.receive()
