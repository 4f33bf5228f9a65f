"""What hostile bytes cost in memory: at most sixteen times what was sent, cut anywhere."""

import tracemalloc
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise

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


def pieces(data: bytes, sizes: tuple[int, ...]) -> Iterable[bytes]:
    """Yield copies of pieces of these sizes, again and again, until nothing is left."""
    ends = accumulate(sizes * (len(data) // sum(sizes) + 1), initial=0)
    return (bytes(bytearray(data[start:end])) for start, end in pairwise(ends))


@pytest.mark.parametrize("sizes", [(1,), (3,), (1000,), (5000,), (1, 5000), (5000, 1, 1, 1)])
def test_a_frame_that_comes_in_pieces_costs_little(sizes: tuple[int, ...]) -> None:
    data = (50_000).to_bytes(4, "big") + b"x" * 49_999

    def feed() -> FrameSplitter:
        splitter = FrameSplitter()
        for piece in pieces(data, sizes):
            splitter.feed(piece)
        return splitter

    assert feed().in_frame
    assert held(feed) < TIMES * len(data)


@pytest.mark.parametrize("size", [10, 5000, 20_000])
def test_the_beginning_of_a_frame_does_not_keep_the_frames_before_it(size: int) -> None:
    before = (100_000).to_bytes(4, "big") + b"x" * 100_000
    begun = (50_000).to_bytes(4, "big") + b"x" * size

    def feed() -> list[FrameSplitter]:
        splitters = [FrameSplitter() for _ in range(50)]
        for splitter in splitters:
            splitter.feed(before + begun)
        return splitters

    assert all(splitter.in_frame for splitter in feed())
    assert held(feed) < TIMES * 50 * (size + 1000) + 2 * len(before + begun)
