"""The sockets of an in-process cluster: opened, closed and reset as those of real brokers."""

import gc
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from kgroup.testing import BrokerSettings, InProcessBroker
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    MetadataRequest,
)

BEAT = encode_request(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 3, 1, "A")


@pytest.fixture
def broker() -> InProcessBroker:
    return InProcessBroker(nodes=2, topics={"orders": 1})


@pytest.fixture
def dialled(broker: InProcessBroker) -> Iterator[socket.socket]:
    """A connection to broker 1, which is served meanwhile."""
    with broker.serve(), dial(broker) as connection:
        yield connection


def dial(broker: InProcessBroker, node_id: int = 1) -> socket.socket:
    return socket.create_connection(broker.node(node_id).address, timeout=5)


def next_frame(connection: socket.socket) -> memoryview:
    splitter = FrameSplitter()
    while not (frames := splitter.feed(connection.recv(65536))):
        pass
    return frames[0]


def joined(connection: socket.socket) -> JoinGroupResponse:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=protocols,
    )
    connection.sendall(encode_request(request, 3, 1, "A"))
    return decode_response(JoinGroupRequest, 3, next_frame(connection))[1]


def test_a_served_cluster_names_its_sockets_and_goes_back_to_memory(
    broker: InProcessBroker,
) -> None:
    before = broker.bootstrap
    with broker.serve() as served:
        assert served.bootstrap == ",".join(f"127.0.0.1:{port}" for _, port in broker.bootstrap)
        with dial(broker, 2) as connection:
            connection.sendall(encode_request(MetadataRequest(topics=None), 9, 1, "A"))
            _, answer = decode_response(MetadataRequest, 9, next_frame(connection))
        named = tuple((each.host, each.port) for each in answer.brokers)
        assert named == broker.bootstrap
    assert broker.bootstrap == before


def test_nothing_is_left_when_the_block_ends(broker: InProcessBroker) -> None:
    threads = {*threading.enumerate()}
    with broker.serve():
        address = broker.node(1).address
        left_open = dial(broker)
    with left_open, pytest.raises(ConnectionResetError):
        left_open.recv(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)
    gc.collect()  # a socket or loop that was forgotten would warn here
    # One that another test left may end meanwhile.
    assert {*threading.enumerate()} <= threads


def test_a_cluster_can_be_served_again_but_not_twice_at_once(broker: InProcessBroker) -> None:
    for _ in range(2):
        with broker.serve():
            with dial(broker) as connection:
                connection.sendall(BEAT)
                assert len(next_frame(connection)) == 10
            with pytest.raises(RuntimeError, match="served on sockets already"):
                broker.serve().__enter__()


def test_a_killed_broker_resets_refuses_and_comes_back_at_its_port(
    broker: InProcessBroker, dialled: socket.socket
) -> None:
    address = broker.node(1).address
    broker.node(1).kill()
    with pytest.raises(ConnectionResetError):
        dialled.recv(1)
    with pytest.raises(ConnectionRefusedError):
        dial(broker)
    broker.node(1).start()
    assert broker.node(1).address == address
    with dial(broker) as connection:
        connection.sendall(BEAT)
        assert len(next_frame(connection)) == 10


def test_a_stopped_broker_closes_its_connections_in_good_order(
    broker: InProcessBroker, dialled: socket.socket
) -> None:
    dialled.sendall(BEAT)
    assert len(next_frame(dialled)) == 10
    broker.node(1).stop()
    assert dialled.recv(1) == b""


def test_a_client_that_leaves_is_forgotten(broker: InProcessBroker, dialled: socket.socket) -> None:
    dialled.sendall(BEAT * 3)
    dialled.close()
    with dial(broker) as connection:
        connection.sendall(BEAT)
        assert len(next_frame(connection)) == 10


def test_time_is_real(broker: InProcessBroker) -> None:
    broker = InProcessBroker(settings=BrokerSettings(initial_rebalance_delay=0.1))
    with broker.serve(), dial(broker) as connection:
        began = time.monotonic()
        assert joined(connection).generation_id == 1
        assert 0.09 <= time.monotonic() - began < 5
        broker.create_topic("t")
        broker.partition("t").append("now")
        stamp = broker.partition("t").records()[0].timestamp
    assert stamp == pytest.approx(time.time() * 1000, abs=60_000)


def test_another_thread_may_let_an_answer_go(
    broker: InProcessBroker, dialled: socket.socket
) -> None:
    held = broker.answers.hold(HeartbeatRequest)
    dialled.sendall(BEAT)
    dialled.settimeout(0.05)
    with pytest.raises(TimeoutError):
        dialled.recv(1)
    dialled.settimeout(5)
    held.release()
    assert len(next_frame(dialled)) == 10


def test_a_slow_broker_is_slow_in_real_time(
    broker: InProcessBroker, dialled: socket.socket
) -> None:
    broker.node(1).slow(0.1)
    began = time.monotonic()
    dialled.sendall(BEAT)
    assert len(next_frame(dialled)) == 10
    assert 0.09 <= time.monotonic() - began < 5


def test_a_rule_may_kill_a_broker(broker: InProcessBroker, dialled: socket.socket) -> None:
    def kill(_request: object) -> bool:
        broker.node(2).kill()
        return False

    broker.answers.lose(HeartbeatRequest, where=kill)
    dialled.sendall(BEAT)
    assert len(next_frame(dialled)) == 10
    dialled.sendall(BEAT)
    assert len(next_frame(dialled)) == 10
    with pytest.raises(ConnectionRefusedError):
        dial(broker, 2)


def test_a_broker_that_is_down_may_be_served_and_started(broker: InProcessBroker) -> None:
    broker.node(2).kill()
    with broker.serve():
        with pytest.raises(ConnectionRefusedError):
            dial(broker, 2)
        broker.node(2).start()
        dial(broker, 2).close()


def test_many_threads_may_change_a_served_cluster(
    broker: InProcessBroker, dialled: socket.socket
) -> None:
    part = broker.partition("orders")
    threads = [
        threading.Thread(target=lambda: [part.append("x") for _ in range(50)]) for _ in range(4)
    ]
    for each in threads:
        each.start()
    try:
        for _ in range(50):
            dialled.sendall(BEAT)
            assert len(next_frame(dialled)) == 10
    finally:
        for each in threads:
            each.join(30)
    assert part.end == 200
    assert [each.offset for each in part.records()] == [*range(200)]


@pytest.mark.anyio
async def test_a_served_cluster_takes_no_connections_in_memory(broker: InProcessBroker) -> None:
    with broker.serve(), pytest.raises(RuntimeError, match="served on sockets"):
        await broker.dial(*broker.bootstrap[0])
