"""What hostile bytes cost in memory: at most sixteen times what was sent, cut anywhere."""

import tracemalloc
from collections.abc import Callable, Iterable

import pytest

from kgroup.wire.frames import FrameSplitter, decode_response
from kgroup.wire.messages import HeartbeatRequest
from kgroup.wire.primitives import pack_tags

TIMES = 16
BODY = b"\x00\x00\x00\x00\x00\x00"
"""Of a HeartbeatResponse: throttle_time_ms, error_code."""


def held(what: Callable[[], object]) -> int:
    """Return the bytes that a call takes at its peak."""
    what()
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


UNKNOWN = pack_tags([(tag, b"") for tag in range(100, 16_100)])


@pytest.mark.parametrize(
    "frame",
    [b"\x00\x00\x00\x01" + UNKNOWN + BODY + b"\x00", b"\x00\x00\x00\x01\x00" + BODY + UNKNOWN],
)
def test_unknown_tagged_fields_of_a_header_or_a_body_cost_little(frame: bytes) -> None:
    assert decode_response(HeartbeatRequest, 4, frame)[1].error_code == 0
    assert held(lambda: decode_response(HeartbeatRequest, 4, frame)) < TIMES * len(frame)


def pieces(data: bytes, size: int) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_frame_that_comes_in_pieces_costs_little(size: int) -> None:
    data = (50_000).to_bytes(4, "big") + b"x" * 49_999

    def feed() -> FrameSplitter:
        splitter = FrameSplitter()
        for piece in pieces(data, size):
            splitter.feed(piece)
        return splitter

    assert feed().in_frame
    assert held(feed) < TIMES * len(data)
