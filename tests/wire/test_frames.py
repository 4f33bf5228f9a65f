"""Frames and headers: whole, in pieces, cut off, and not of this protocol."""

import tracemalloc
from typing import Any

import pytest

from kgroup.codes import ApiKey
from kgroup.errors import DecodeError, LocalProtocolError, UnsupportedVersionError
from kgroup.wire.frames import (
    DEFAULT_LIMIT,
    FrameSplitter,
    RequestHeader,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    request_class,
    response_correlation_id,
)
from kgroup.wire.messages import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from kgroup.wire.schema import encode
from tests import vectors

BEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
FRAMES = vectors.load("wire/_frames")
HEADERS = vectors.load("wire/_headers")


def frame_of(line: dict[str, Any]) -> bytes:
    return bytes.fromhex(line["frame_hex"])


def name_of(line: dict[str, Any]) -> str:
    return f"{line['api']}-{line['kind']}-v{line['version']}"


def read(line: dict[str, Any], frame: bytes | memoryview) -> bytes:
    """Decode a frame of a line without its size, and encode it again."""
    key, version = ApiKey(line["key"]), line["version"]
    if line["kind"] == "request":
        header, request = decode_request(frame)
        assert header == RequestHeader(key, version, line["correlation_id"], line["client_id"])
        return encode_request(request, version, header.correlation_id, header.client_id)
    correlation_id, response = decode_response(request_class(key), version, frame)
    assert correlation_id == line["correlation_id"] == response_correlation_id(frame)
    return encode_response(response, key, version, correlation_id)


# -- frames of Kafka -----------------------------------------------------------------------


@pytest.mark.parametrize("line", FRAMES, ids=name_of)
def test_a_frame_of_kafka_decodes_and_encodes_to_the_same_bytes(line: dict[str, Any]) -> None:
    (frame,) = FrameSplitter().feed(frame_of(line))
    assert read(line, frame) == frame_of(line)


@pytest.mark.parametrize("line", FRAMES, ids=name_of)
def test_a_frame_that_comes_byte_by_byte_comes_out_whole(line: dict[str, Any]) -> None:
    data, splitter = frame_of(line), FrameSplitter()
    for at in range(len(data) - 1):
        assert splitter.feed(data[at : at + 1]) == []
        assert splitter.in_frame
    (frame,) = splitter.feed(data[-1:])
    assert frame == data[4:]
    assert not splitter.in_frame


@pytest.mark.parametrize("line", FRAMES, ids=name_of)
def test_a_frame_cut_at_any_byte_is_an_error_and_never_another_message(
    line: dict[str, Any],
) -> None:
    data = frame_of(line)[4:]
    for cut in range(len(data)):
        with pytest.raises(DecodeError):
            read(line, data[:cut])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 1000, 1 << 30])
def test_pieces_of_any_size_give_the_same_frames(size: int) -> None:
    whole, splitter = b"".join(map(frame_of, FRAMES)), FrameSplitter()
    found = [f for at in range(0, len(whole), size) for f in splitter.feed(whole[at : at + size])]
    assert found == [frame_of(line)[4:] for line in FRAMES]


def test_large_and_small_pieces_of_a_frame_are_joined_in_the_order_they_came() -> None:
    frame = bytes(range(256)) * 400
    data, splitter = len(frame).to_bytes(4) + frame, FrameSplitter()
    at = 0
    for size in (1, 1, 5000, 7, 9, 4096, 30_000, 1, 4095, 20_000):
        assert splitter.feed(data[at : at + size]) == []
        at += size
    assert splitter.feed(data[at:]) == [frame]


def test_a_frame_that_came_in_one_read_is_a_view_of_that_read() -> None:
    splitter = FrameSplitter()
    data = b"\0\0\0\x02ab" + b"\0\0\0\x03"
    (first,) = splitter.feed(data)
    rest = b"cde"
    (second,) = splitter.feed(rest)
    assert first.obj is data
    assert second.obj is rest


def received(splitter: FrameSplitter, data: bytes, most: int) -> list[memoryview]:
    """Receive as a socket does: as much as there is room for, at most `most` bytes at once."""
    found: list[memoryview] = []
    at = 0
    while at < len(data):
        room = splitter.room()
        count = min(len(room), most, len(data) - at)
        room[:count] = data[at : at + count]
        found += splitter.filled(count)
        at += count
    return found


@pytest.mark.parametrize("most", [1, 3, 1000, 16 * 1024, 1 << 30])
def test_frames_of_kafka_received_into_the_room_for_them_come_out_whole(most: int) -> None:
    whole = b"".join(map(frame_of, FRAMES))
    assert received(FrameSplitter(), whole, most) == [frame_of(line)[4:] for line in FRAMES]


@pytest.mark.parametrize("most", [5000, 16 * 1024, 1 << 30])
def test_frames_of_any_size_are_received_whole_and_in_order(most: int) -> None:
    sizes = (0, 5, 16_379, 16_380, 16_384, 40_000, 7, 4 << 20, (34 << 20) + 1, 0, 100_000)
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    data = b"".join(len(frame).to_bytes(4) + frame for frame in frames)
    splitter = FrameSplitter()
    found = received(splitter, data, most)
    assert [bytes(frame) for frame in found] == frames
    assert all(frame.readonly for frame in found)
    assert not splitter.in_frame


def test_a_frame_does_not_change_when_the_room_is_used_again() -> None:
    splitter = FrameSplitter()
    small, large = b"\0\0\0\x02ab", (50_000).to_bytes(4) + b"x" * 50_000
    found = received(splitter, small + large, 1 << 30)
    received(splitter, b"\0\0\0\x02cd" + (50_000).to_bytes(4) + b"y" * 50_000, 1 << 30)
    assert found == [b"ab", b"x" * 50_000]


def test_the_rest_of_a_large_frame_is_received_where_it_stays() -> None:
    splitter = FrameSplitter()
    room = splitter.room()
    room[:5] = (50_000).to_bytes(4) + b"x"
    splitter.filled(5)
    room = splitter.room()
    assert len(room) == 49_999
    room[:] = b"y" * 49_999
    (frame,) = splitter.filled(49_999)
    assert frame.obj is room.obj


def test_a_frame_that_is_announced_and_does_not_come_costs_16_megabytes() -> None:
    splitter = FrameSplitter()
    tracemalloc.start()
    try:
        received(splitter, DEFAULT_LIMIT.to_bytes(4) + b"x", 1 << 30)
        splitter.room()
        assert tracemalloc.get_traced_memory()[1] < 17 << 20
    finally:
        tracemalloc.stop()
    assert splitter.in_frame


def test_a_bad_size_in_the_room_is_an_error() -> None:
    splitter = FrameSplitter()
    with pytest.raises(DecodeError, match="size -1 is negative"):
        received(splitter, b"\xff" * 4, 1 << 30)


# -- headers of Kafka ----------------------------------------------------------------------


def test_a_request_header_of_kafka_is_read() -> None:
    for line in HEADERS:
        if line["kind"] == "request_header":
            data, fields = bytes.fromhex(line["hex"]), line["json"]
            cls = request_class(ApiKey(fields["requestApiKey"]))
            # The lines combine versions and header versions freely; requests do not.
            version = cls.FLEXIBLE if line["header_version"] == 2 else 0
            assert version is not None
            header, body = decode_request_header(data[:2] + version.to_bytes(2) + data[4:])
            assert header == (
                cls.api_key, version, fields["correlationId"], fields["clientId"]
            )  # fmt: skip
            assert len(body) == 0


def test_a_response_header_of_kafka_is_read() -> None:
    for line in HEADERS:
        if line["kind"] == "response_header":
            version = 4 if line["header_version"] == 1 else 1
            body = encode(HeartbeatResponse(error_code=27), version)
            frame = bytes.fromhex(line["hex"]) + body
            assert decode_response(HeartbeatRequest, version, frame) == (
                line["json"]["correlationId"],
                HeartbeatResponse(error_code=27),
            )


def test_a_client_without_a_name_sends_null() -> None:
    header, request = decode_request(encode_request(BEAT, 4, 7, None)[4:])
    assert header == RequestHeader(ApiKey.HEARTBEAT, 4, 7, None)
    assert request == BEAT


# -- what is not of this protocol ----------------------------------------------------------


def test_a_negative_size_is_an_error_each_time() -> None:
    splitter = FrameSplitter()
    for data in (b"\xff\xff\xff\xff", b"", b"\0"):
        with pytest.raises(DecodeError, match="size -1 is negative"):
            splitter.feed(data)


def test_a_size_over_the_limit_is_an_error_before_the_frame_arrives() -> None:
    splitter = FrameSplitter(limit=10)
    assert splitter.feed(b"\0\0\0\x0a") == []
    assert splitter.feed(b"0123456789") == [b"0123456789"]
    with pytest.raises(DecodeError, match="size 11 is over the limit of 10"):
        splitter.feed(b"\0\0\0\x0b")


def test_frames_before_a_bad_size_are_lost_with_the_connection() -> None:
    with pytest.raises(DecodeError):
        FrameSplitter().feed(b"\0\0\0\x01a" + b"\xff" * 4)


@pytest.mark.parametrize(
    ("data", "hint"),
    [(b"HTTP/1.1 400 Bad Request", "HTTP"), (bytes.fromhex("15030300020246"), "TLS")],
)
def test_a_peer_of_another_protocol_is_named(data: bytes, hint: str) -> None:
    with pytest.raises(DecodeError, match=hint):
        FrameSplitter().feed(data)


def test_a_frame_does_not_change_when_the_caller_uses_its_buffer_again() -> None:
    buffer = bytearray(b"\0\0\0\x02ab")
    (frame,) = FrameSplitter().feed(memoryview(buffer))
    buffer[-2:] = b"xx"
    assert bytes(frame) == b"ab"
    assert frame.readonly


def test_an_api_without_a_name_here_is_an_error() -> None:
    with pytest.raises(DecodeError, match="no API with key 999"):
        decode_request(bytes.fromhex("03e7 0000 00000001 ffff"))


def test_a_client_id_past_the_end_or_not_utf8_is_an_error() -> None:
    for tail in ("0005 6162", "fffe", "0001 ff"):
        with pytest.raises(DecodeError, match="client id"):
            decode_request(bytes.fromhex("000c 0000 00000001" + tail))


def test_a_request_in_an_unknown_version_leaves_its_header_to_the_server() -> None:
    frame = encode_request(ApiVersionsRequest(), 4, 9, "c")[4:]
    future = frame[:2] + b"\0\x63" + frame[4:]
    with pytest.raises(UnsupportedVersionError):
        decode_request(future)
    header, _ = decode_request_header(future)
    assert header == RequestHeader(ApiKey.API_VERSIONS, 99, 9, "c")


def test_a_header_that_does_not_fit_is_our_own_error() -> None:
    with pytest.raises(LocalProtocolError, match="header of HeartbeatRequest"):
        encode_request(BEAT, 3, 1 << 31, "c")
    with pytest.raises(LocalProtocolError, match="header of HeartbeatRequest"):
        encode_request(BEAT, 3, 1, "c" * 40_000)


# -- ApiVersions (KIP-511) -----------------------------------------------------------------

RANGE = ApiVersionsResponse(
    error_code=35, api_keys=(ApiVersion(api_key=18, min_version=0, max_version=2),)
)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("answer", [RANGE, ApiVersionsResponse(error_code=35, api_keys=())])
def test_a_broker_that_does_not_know_the_version_is_understood(
    version: int, answer: ApiVersionsResponse
) -> None:
    frame = encode_response(answer, ApiKey.API_VERSIONS, 0, 5)[4:]
    assert decode_response(ApiVersionsRequest, version, frame) == (5, answer)


@pytest.mark.parametrize("version", range(5))
def test_error_35_in_the_layout_that_was_asked_for_is_understood_too(version: int) -> None:
    frame = encode_response(RANGE, ApiKey.API_VERSIONS, version, 5)[4:]
    assert decode_response(ApiVersionsRequest, version, frame) == (5, RANGE)


def test_other_errors_in_another_layout_are_not_guessed_at() -> None:
    frame = encode_response(ApiVersionsResponse(api_keys=()), ApiKey.API_VERSIONS, 0, 5)[4:]
    with pytest.raises(DecodeError):
        decode_response(ApiVersionsRequest, 3, frame)


def test_only_api_versions_falls_back_to_version_0() -> None:
    frame = encode_response(HeartbeatResponse(error_code=35), ApiKey.HEARTBEAT, 0, 5)[4:]
    with pytest.raises(DecodeError):
        decode_response(HeartbeatRequest, 1, frame)
