"""Frames that are none (N1 to N5), and coordinators that are none (N14)."""

import struct
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Final

import anyio
import pytest

from kgroup.consumer import Consumer
from kgroup.errors import NoBrokerError
from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import virtual_ports
from kgroup.types import MemberState
from kgroup.wire.messages import (
    ApiVersionsRequest,
    Coordinator,
    FetchRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    MetadataRequest,
)
from kgroup.wire.schema import Request
from tests.bad_input.stage import A, check_pace, cluster, outlive, playing
from tests.bad_input.surgery import ASKED, Kind, resized

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Bend = Callable[[bytes], bytes]

PARKED: Final = [MetadataRequest, JoinGroupRequest, HeartbeatRequest, FetchRequest]
"""One answer of each connection: what bends a frame knows nothing else of it."""

WEB = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
TLS = bytes.fromhex("15030300020228")
"""An alert: handshake failure."""


def sized(size: int) -> Bend:
    """Say another size than the answer has."""
    return lambda frame: struct.pack(">i", size) + frame[4:]


def numbered(shift: int) -> Bend:
    """Answer under another correlation id."""

    def bend(frame: bytes) -> bytes:
        (number,) = struct.unpack_from(">i", frame, 4)
        return frame[:4] + struct.pack(">i", (number + shift) % 2**31) + frame[8:]

    return bend


def trailed(frame: bytes) -> bytes:
    """Put bytes behind the body, within the frame."""
    return resized(frame + b"\0\0\0")


def unasked(frame: bytes) -> bytes:
    """Put another answer behind it, which nobody asked for."""
    return frame + numbered(7)(frame)


def bent(kind: Kind, bend: Bend) -> Callable[[InProcessBroker], object]:
    """Bend every answer of a class."""
    return lambda broker: broker.answers.rewrite_bytes(kind, bend, times=None)


async def refused_by(bend: Bend) -> str:
    """Return the error of a consumer that gets only such answers."""
    broker = cluster()
    broker.answers.rewrite_bytes(Request, bend, times=None)
    consumer = Consumer(
        "orders",
        group_id="g",
        bootstrap_servers="broker-1:9092",
        ports=virtual_ports(broker.dial),
        bootstrap_timeout=10.0,
    )
    with pytest.raises(NoBrokerError) as caught:
        async with consumer:
            pass
    assert len(broker.requests) <= 20 * anyio.current_time()
    return str(caught.value)


# -- N1: negative lengths ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, -(2**31)])
async def test_n01_the_error_of_a_frame_of_negative_size_has_the_size_and_the_address(
    size: int,
) -> None:
    words = await refused_by(sized(size))
    assert "broker-1:9092" in words
    assert f"its size {size} is negative" in words


@pytest.mark.parametrize("kind", PARKED)
async def test_n01_frames_of_negative_size_are_outlived(kind: Kind) -> None:
    await outlive(bent(kind, sized(-5)))


# -- N2: too long --------------------------------------------------------------------------------


async def test_n02_the_error_of_a_frame_over_the_limit_has_size_and_limit() -> None:
    words = await refused_by(sized(2**31 - 1))
    assert "its size 2147483647 is over the limit of 104857600" in words


@pytest.mark.parametrize(("data", "words"), [(WEB, "web server"), (TLS, "security_protocol")])
async def test_n02_a_port_that_is_not_kafkas_is_called_by_its_name(data: bytes, words: str) -> None:
    assert words in await refused_by(lambda _: data)


async def test_n02_the_body_of_a_frame_over_the_limit_is_not_waited_for() -> None:
    """The size alone ends the connection, however slowly the rest may come."""
    broker = cluster()
    async with playing(broker, request_timeout=30.0) as play:
        await play.read_all()
        broker.answers.rewrite_bytes(FetchRequest, lambda _: struct.pack(">i", 2**30))
        began = anyio.current_time()
        play.write()
        await play.read_all()
        assert anyio.current_time() - began < 2.0


@pytest.mark.parametrize("kind", PARKED)
async def test_n02_frames_over_the_limit_are_outlived(kind: Kind) -> None:
    await outlive(bent(kind, sized(2**31 - 1)))


async def test_n02_what_cannot_be_read_is_warned_of_while_the_consumer_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = cluster()
    async with playing(broker) as play:
        await play.read_all()
        broker.answers.rewrite_bytes(FetchRequest, lambda _: WEB, times=None)
        play.write()
        await play.read_for(100.0)
        logged = [each for each in caplog.messages if "web server" in each]
        assert len(logged) == 2
        assert all("broker-1:9092" in each for each in logged)


# -- N3: cut off, then silence -------------------------------------------------------------------


async def test_n03_a_frame_cut_off_and_then_silence_ends_with_the_request_timeout() -> None:
    words = await refused_by(lambda frame: frame[:9])
    assert "no answer" in words


@pytest.mark.parametrize("kind", ASKED)
async def test_n03_frames_cut_off_and_then_silence_are_outlived(kind: Kind) -> None:
    await outlive(bent(kind, lambda frame: frame[: len(frame) // 2]), request_timeout=1.0)


# -- N4: more than the body ----------------------------------------------------------------------


async def test_n04_the_error_of_bytes_behind_the_body_has_their_number() -> None:
    assert "3 bytes are left over" in await refused_by(trailed)


@pytest.mark.parametrize("kind", ASKED)
async def test_n04_bytes_behind_the_body_are_outlived(kind: Kind) -> None:
    await outlive(bent(kind, trailed))


# -- N5: answers to nothing ----------------------------------------------------------------------


async def test_n05_the_error_of_an_answer_under_another_number_has_both() -> None:
    assert "correlation id 5, but 0 was to come next" in await refused_by(numbered(5))


@pytest.mark.parametrize("bend", [numbered(1), unasked], ids=["another number", "unasked"])
@pytest.mark.parametrize("kind", PARKED)
async def test_n05_answers_that_nobody_asked_for_are_outlived(kind: Kind, bend: Bend) -> None:
    await outlive(bent(kind, bend))


@pytest.mark.parametrize("kind", PARKED)
async def test_n05_answers_that_come_twice_are_outlived(kind: Kind) -> None:
    await outlive(lambda broker: broker.answers.duplicate(kind, times=None))


@pytest.mark.parametrize("kind", ASKED)
async def test_n05_answers_that_are_skipped_are_outlived(kind: Kind) -> None:
    """The next one comes under a number that is not its turn."""
    await outlive(lambda broker: broker.answers.lose(kind, times=None), request_timeout=1.0)


# -- N14: coordinators that are none -------------------------------------------------------------


def named(node_id: int, host: str, port: int, key: str = "g") -> FindCoordinatorResponse:
    row = Coordinator(key=key, node_id=node_id, host=host, port=port)
    return FindCoordinatorResponse(coordinators=(row,))


def mislead(broker: InProcessBroker, *answers: FindCoordinatorResponse) -> None:
    """Give these answers in turn, the last one for ever."""
    turns: Iterator[FindCoordinatorResponse] = chain(answers, repeat(answers[-1]))
    broker.answers.rewrite(FindCoordinatorRequest, lambda _, __: next(turns), times=None)


def other_node(broker: InProcessBroker) -> int:
    """Return a node that does not coordinate the group."""
    refusals = {node_id: broker.core.coordinators.refusal(node_id, "g") for node_id in (1, 2)}
    (node_id,) = [node_id for node_id, code in refusals.items() if code]
    return node_id


NOWHERE = {
    "nobody there": named(2, "nowhere", 9092),
    "another port": named(2, "broker-2", 1),
    "port 0": named(2, "broker-2", 0),
    "port 70000": named(2, "broker-2", 70_000),
    "no host": named(2, "", 9092),
    "node -1": named(-1, "broker-2", 9092),
    "another group": named(2, "broker-2", 9092, key="h"),
    "nothing": FindCoordinatorResponse(),
    "twice": FindCoordinatorResponse(coordinators=named(1, "broker-1", 9092).coordinators * 2),
}


@pytest.mark.parametrize("answer", NOWHERE.values(), ids=NOWHERE)
async def test_n14_a_coordinator_that_leads_nowhere_is_looked_for_again(
    answer: FindCoordinatorResponse,
) -> None:
    await outlive(lambda broker: mislead(broker, answer))


async def test_n14_a_broker_that_names_one_that_is_none_is_asked_with_pauses() -> None:
    """It is asked which node it is, names another, and so on: a circle."""
    broker = cluster(2)
    node_id = other_node(broker)
    mislead(broker, named(node_id, f"broker-{node_id}", 9092))
    async with playing(broker) as play:
        await play.read_for(20.0)
        assert play.asked(0.0, JoinGroupRequest) >= 5
        check_pace(play, 0.0, most=8.0)
        broker.answers.clear()
        await play.read_all()


async def test_n14_a_coordinator_that_is_no_kafka_costs_no_generation_within_a_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = cluster(2)
    node_id = other_node(broker)
    async with playing(broker) as play:
        await play.read_all()
        before = play.consumer.membership
        broker.answers.rewrite_bytes(ApiVersionsRequest, lambda _: WEB, node=node_id, times=None)
        mislead(broker, named(node_id, f"broker-{node_id}", 9092))
        for each in (1, 2):
            broker.node(each).disconnect()
        play.write()
        await play.read_for(5.0)
        check_pace(play, anyio.current_time() - 5.0)
        assert any("web server" in each for each in caplog.messages)
        broker.answers.clear()
        beats = play.asked(0.0, HeartbeatRequest)
        await play.read_all()
        await play.read_for(5.0)
        assert play.asked(0.0, HeartbeatRequest) > beats
        after = play.consumer.membership
        assert (after.state, after.generation) == (MemberState.STABLE, before.generation)
        await play.consumer.commit()
        assert play.committed()[A] == 10


async def test_n14_a_timeout_of_committed_says_that_no_coordinator_was_found() -> None:
    broker = cluster()
    mislead(broker, named(1, "broker-1", 0))
    async with playing(broker, by_hand=[A]) as play:
        with pytest.raises(TimeoutError, match=r"group 'g'.*within 5 s; no coordinator was found"):
            await play.consumer.committed(A, timeout=5.0)
