"""The little a broker reads of its members' subscriptions: the topics.

Decides: which bytes the coordinator stumbles over (`broker_facts.md` B14a). Real ones read topics
and user data only, forgive what ends inside a length field, and throw at a count or length that is
negative or promises more than is there.
Never: judges what comes after the user data; no broker does.
"""

import struct
from typing import Final

__all__ = ["UnreadableMetadataError", "topics_of"]

_SHORT: Final = struct.Struct(">h")
_INT: Final = struct.Struct(">i")


class UnreadableMetadataError(Exception):
    """The bytes of a subscription at which a coordinator throws."""


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of an embedded subscription, None where a broker takes it for unknown.

    Raises:
        UnreadableMetadataError: a real coordinator would throw.
    """
    try:
        return _read(metadata)
    except struct.error:
        return None


def _read(data: bytes) -> frozenset[str] | None:
    (version,) = _SHORT.unpack_from(data, 0)
    if version < 0:
        return None
    (count,) = _INT.unpack_from(data, 2)
    at = 6
    _must_fit(count, len(data) - at)
    topics = []
    for _ in range(count):
        (length,) = _SHORT.unpack_from(data, at)
        at += 2
        _must_fit(length, len(data) - at)
        topics.append(data[at : at + length].decode("utf-8", "replace"))
        at += length
    (length,) = _INT.unpack_from(data, at)
    if length >= 0:
        _must_fit(length, len(data) - at - 4)
    return frozenset(topics)


def _must_fit(length: int, left: int) -> None:
    if not 0 <= length <= left:
        raise UnreadableMetadataError(f"a length of {length} where {left} byte(s) are left")
