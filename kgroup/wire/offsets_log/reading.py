"""A key and a value of `__consumer_offsets` to one record; and what members wrote into it.

Decides: that a newer version is an error as damage is, for nothing can be said of its fields; that
a blob of a member is read where it is the protocol of consumers, and kept where it cannot be.
Never: reads a value whose key is not read.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from kgroup.errors import DecodeError
from kgroup.wire.classic_bytes import INT16
from kgroup.wire.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
)
from kgroup.wire.offsets_log.keys import Key, OtherKey, read_key
from kgroup.wire.offsets_log.values import VALUES
from kgroup.wire.schema import Message, decode

T = TypeVar("T")

CONSUMERS: Final = "consumer"
"""The protocol type of consumers."""


class OffsetsRecord(NamedTuple):
    """One record.

    Args:
        key: whom it is about.
        value: what it says; None when it removes what was said before, and of a key that is
            not read.
        version: of the value, -1 without one.
    """

    key: Key
    value: Message | None
    version: int = -1


def read_record(key: bytes | None, value: bytes | None) -> OffsetsRecord:
    """Read a record.

    Raises:
        DecodeError: bytes are cut off, too many, contradict themselves, or are of a version that
            is not known.
    """
    return read_value(read_key(key), value)


def read_value(key: Key, value: bytes | None) -> OffsetsRecord:
    """Read the value that stands beside a key; see `read_record`.

    A reader of many records reads each different key once.
    """
    if value is None or isinstance(key, OtherKey):
        return OffsetsRecord(key, None)
    cls = VALUES[key.type]
    what = f"{cls.__name__} of an offsets log"
    if len(value) < INT16.size:
        raise DecodeError(what, f"{len(value)} bytes have no version", position=0)
    version: int = INT16.unpack_from(value)[0]
    if version not in cls.VERSIONS:
        reason = f"version {version}; known are 0 to {cls.VERSIONS.stop - 1}"
        raise DecodeError(what, reason, position=0)
    return OffsetsRecord(key, decode(cls, version, value[INT16.size :]), version)


# -- what members wrote ----------------------------------------------------------------------------


class Unreadable(NamedTuple):
    """Bytes of a member that say nothing here.

    Args:
        data: as they are.
        reason: why not.
    """

    data: bytes
    reason: str


def subscription_of(data: bytes, protocol_type: str) -> MemberSubscription | Unreadable:
    """Return what a member subscribes to, or the bytes where that cannot be read.

    Args:
        data: of the member.
        protocol_type: of its group.
    """
    return _read(decode_subscription, data, protocol_type)


def assignment_of(data: bytes, protocol_type: str) -> MemberAssignment | Unreadable:
    """Return what a member was assigned, or the bytes where that cannot be read."""
    return _read(decode_assignment, data, protocol_type)


def _read(read: Callable[[bytes], T], data: bytes, protocol_type: str) -> T | Unreadable:
    if protocol_type != CONSUMERS:
        return Unreadable(data, f"the protocol of {protocol_type or 'nobody'!r} is not read")
    try:
        return read(data)
    except DecodeError as error:
        return Unreadable(data, str(error))
