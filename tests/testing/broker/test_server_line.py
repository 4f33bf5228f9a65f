"""What is no request, or none that is served, and what stands behind one that is."""

import pytest
from anyio.abc import ByteStream

from kgroup.testing import InProcessBroker
from kgroup.testing.virtual_time import VIRTUAL_BACKENDS, virtual_backend
from kgroup.wire.frames import FrameSplitter, decode_response, encode_request
from kgroup.wire.messages import (
    ApiVersionsRequest,
    HeartbeatRequest,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = pytest.mark.anyio

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> object:
    return virtual_backend(request.param)


@pytest.fixture
def broker() -> InProcessBroker:
    return InProcessBroker()


async def rest(stream: ByteStream) -> bytes:
    """Return what arrives until the end of a stream."""
    return b"".join([data async for data in stream])


async def test_an_unknown_version_of_api_versions_is_answered_by_35_in_version_0(
    broker: InProcessBroker,
) -> None:
    stream = await broker.dial(*broker.bootstrap[0])
    frame = bytearray(encode_request(ApiVersionsRequest(), 3, 9, "A"))
    frame[6:8] = (99).to_bytes(2, "big")
    await stream.send(bytes(frame))
    (answer,) = FrameSplitter().feed(await stream.receive())
    number, message = decode_response(ApiVersionsRequest, 0, answer)
    assert (number, message.error_code, len(message.api_keys)) == (9, 35, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\x08\x00\x0c\x00\x63\0\0\0\1",  # Heartbeat 99
        b"\0\0\0\x0a\x03\xe7\x00\x00\0\0\0\1\xff\xff",  # an API that does not exist
        b"\0\0\0\x0b\x00\x0c\x00\x00\0\0\0\1\xff\xff\x09",  # a Heartbeat that ends too early
        b"\xff\xff\xff\xff",  # a negative size
        b"GET / HTTP/1.1\r\n",
    ],
)
async def test_what_cannot_be_read_ends_the_connection(
    broker: InProcessBroker, data: bytes
) -> None:
    stream = await broker.dial(*broker.bootstrap[0])
    await stream.send(encode_request(BEAT, 0, 1, "A"))
    await stream.send(data)
    assert len(await rest(stream)) == 10


async def test_what_is_left_over_behind_a_request_is_not_looked_at(
    broker: InProcessBroker,
) -> None:
    stream = await broker.dial(*broker.bootstrap[0])
    frame = encode_request(BEAT, 0, 1, "A") + b"\1\0\0"
    await stream.send((len(frame) - 4).to_bytes(4, "big") + frame[4:])
    assert len(await stream.receive()) == 10


async def test_a_request_behind_unreadable_bytes_has_no_effect(
    broker: InProcessBroker,
) -> None:
    broker.create_topic("orders")
    stream = await broker.dial(*broker.bootstrap[0])
    unreadable = b"\0\0\0\x08\x00\x0c\x00\x63\0\0\0\1"
    commit = OffsetCommitRequest(
        group_id="g",
        topics=(
            OffsetCommitRequestTopic(
                name="orders",
                partitions=(
                    OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=5, committed_metadata=""
                    ),
                ),
            ),
        ),
    )
    await stream.send(unreadable + encode_request(commit, 3, 2, "A"))
    assert await rest(stream) == b""
    assert broker.group("g").committed == {}
    again = await broker.dial(*broker.bootstrap[0])
    await again.send(encode_request(commit, 3, 2, "A"))
    assert broker.group("g").committed == {("orders", 0): 5}
