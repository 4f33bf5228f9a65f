"""T1: the frame splitter, however the bytes of a connection arrive.

Decides: frames and errors do not depend on where the bytes are cut: whole, at drawn places, and
for one input in eight also byte by byte, at every single place of a short stream, and in every way
at all of a tiny one. The first four bytes of an input draw the places; the rest is the stream.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from kgroup.errors import DecodeError
from kgroup.wire.frames import FrameSplitter
from tests.search.fuzz.recorded import of_brokers
from tests.search.fuzz.target import Tape, Target, sure

LIMIT: Final = 4096
_HEAD: Final = 4
_TINY: Final = 7
_ALL_WAYS: Final = 8
_SHORT: Final = 40


def split(stream: bytes, limit: int = LIMIT) -> tuple[list[bytes], bool, bool]:
    """Return the frames of a stream, whether it ends in an error, and whether within a frame."""
    frames: list[bytes] = []
    at = 0
    while len(stream) - at >= _HEAD:
        size = int.from_bytes(stream[at : at + _HEAD], "big", signed=True)
        if not 0 <= size <= limit:
            return frames, True, True
        if len(stream) - at - _HEAD < size:
            return frames, False, True
        frames.append(stream[at + _HEAD : at + _HEAD + size])
        at += _HEAD + size
    return frames, False, at < len(stream)


def fed(pieces: Iterator[bytes], *, overwriting: bool) -> tuple[list[bytes], bool, bool]:
    """Return the same as a splitter says that gets the pieces one by one."""
    splitter = FrameSplitter(LIMIT)
    frames: list[memoryview] = []
    failed = False
    for piece in pieces:
        own = bytearray(piece)
        try:
            frames += splitter.feed(own if overwriting else piece)
            sure(not failed, "a splitter that has failed fails again")
        except DecodeError:
            failed = True
        own[:] = bytes(len(own))  # the caller may use its buffer again
    return [bytes(frame) for frame in frames], failed, splitter.in_frame


def pieces(stream: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    for start, end in pairwise((0, *cuts, len(stream))):
        yield stream[start:end]


def segmentations(drawn: bytes, stream: bytes) -> Iterator[Sequence[int]]:
    """Yield places to cut a stream at."""
    size = len(stream)
    tape = Tape(drawn)
    yield ()
    yield sorted(tape.below(size + 1) for _ in range(3))
    if (size + sum(drawn)) % _ALL_WAYS:
        return
    if size <= _TINY:
        for mask in range(1 << max(size - 1, 0)):
            yield [at for at in range(1, size) if mask >> (at - 1) & 1]
        return
    if size <= _SHORT:
        yield from ((at,) for at in range(size + 1))
    yield range(1, min(size, LIMIT))


def check(data: bytes) -> bool:
    drawn, stream = data[:_HEAD], data[_HEAD:]
    whole = split(stream)
    for number, cuts in enumerate(segmentations(drawn, stream)):
        said = fed(pieces(stream, cuts), overwriting=number % 2 == 1)
        # A splitter that failed stays where it failed, and what comes after is not looked at.
        if whole[1]:
            sure(said[1], "the size is refused wherever the bytes are cut", cuts)
            sure(said[0] == whole[0] or _same_feed(said[0], whole[0]), "frames before", cuts)
        else:
            sure(said == whole, "frames do not depend on where the bytes are cut", cuts, said)
    return bool(whole[0]) and not whole[1]


def _same_feed(said: list[bytes], whole: list[bytes]) -> bool:
    """A feed that raises returns nothing: the frames it completed before are lost with it."""
    return said == whole[: len(said)]


def read(data: bytes) -> object:
    return FrameSplitter().feed(data[_HEAD:])


def corpus() -> list[bytes]:
    """Single frames, and short stretches of a connection."""
    frames = [
        len(sent.frame).to_bytes(_HEAD, "big") + sent.frame
        for sent in islice(of_brokers(), 0, None, 7)
        if len(sent.frame) < LIMIT
    ]
    several = [b"".join(frames[at : at + 3]) for at in range(0, len(frames), 5)]
    tiny = [b"", b"\0\0\0\0", b"\0\0\0\1a", b"\0\0\0\2ab\0", b"\0\0\0\0\0\0\0", b"\xff\xff\xff\xff"]
    other = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x16", b"\0\0\x10\1abc"]
    streams = (*tiny, *other, *frames, *several)
    return [bytes((7, 3, 99, at % 256)) + each for at, each in enumerate(streams)]


FRAMES: Final = Target(
    name="T1",
    about="the frame splitter says the same however the bytes are cut",
    corpus=corpus,
    check=check,
    read=read,
    tokens=(b"\0\0\0\0", b"\0\0\0\1", b"\0\0\x10\0", b"\0\0\x10\1", b"\x7f\xff\xff\xff"),
)
