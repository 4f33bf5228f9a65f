"""What members write to the coordination topic: five messages, and kgroup's headers beside them.

Decides: the grammar, to the byte, as the original library reads and writes it: what counts as a
    message, and which rule an invalid value breaks; the names of the headers and their bytes, and
    when a record without them counts as one of kgroup's.
Never: judges what a message does (`transitions`), or whether its figures can be true (`world`);
    puts anything into a payload that the original library could not read.
Source: the PROTOCOL.md of dropbox/marshal, corrected by what its code does.

    TYPE / version / time / instance_id / client_id / group_id / topic / partition [ / tail ]

There is no escaping and no room for another field: a decoder of the original wants the exact
count. Ids are bytes; anything but a slash passes through. The original library never sees headers:

    kg-v       1: the sender keeps kgroup's rules; a record without it comes from another library
    kg-epoch   offset of the accepted claim under which a heartbeat, release or probe is written
    kg-start   start of the sender's process, milliseconds since the epoch: the later twin wins
    kg-hi      heartbeat interval, whole seconds: a claim lives for two of them
    kg-max     of a sign of presence: how many partitions of the topic its sender takes at most
    kg-nonce   identifies a message when its sender does not know whether it was written
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

VERSION: Final = 1
"""What is written; what is read may be any integer."""

_MOST: Final = 2**63
_DIGITS: Final = 40
"""More than any 64-bit integer has, with a few zeros in front; longer ones are looked at twice."""

_PLAIN: Final = 19
"""So many digits or more may be too many for 64 bits."""

_INTEGER: Final = re.compile(rb"([+-]?)0*([0-9]+)")


class Kind(Enum):
    """The type of a message; its value is the word that opens it."""

    HEARTBEAT = b"Heartbeat"
    CLAIMING_PARTITION = b"ClaimingPartition"
    RELEASING_PARTITION = b"ReleasingPartition"
    CLAIMING_MESSAGES = b"ClaimingMessages"
    RELEASE_GROUP = b"ReleaseGroup"

    # Kinds are keys of tables that are looked into for each message of a log.
    __hash__ = object.__hash__


class Reject(Enum):
    """Why bytes are no message, or a message that is not believed; in order of judgement."""

    NULL = "no value"
    TOO_LONG = "longer than any message"
    FIELDS = "fewer than eight fields"
    VERSION = "the version is no integer"
    PARTITION = "the partition is no integer"
    TIME = "the time is no integer"
    KIND = "no type of this name"
    COUNT = "a wrong number of fields"
    TAIL = "the offset or expiry is no integer"
    RELEASE_GROUP = "a release of a group names a topic or a partition"
    HEADER = "an extension header is no integer, or one that its name does not allow"
    PARTITION_RANGE = "no topic has this partition"
    OFFSET_RANGE = "no log has this offset"
    TIME_RANGE = "ten years from the time of the log"
    EPOCH_RANGE = "no claim stands before it at the offset that it names"

    __hash__ = object.__hash__


class Message(NamedTuple):
    """One message; a tuple, because logs of a million of them are read at start-up.

    Args:
        kind: its type.
        time: of the sender's clock, whole seconds since the epoch.
        instance_id: of the sender's process.
        client_id: of the sender.
        group_id: of its group.
        topic: of the key; empty in a RELEASE_GROUP.
        partition: of the key; 0 in a RELEASE_GROUP.
        tail: the next offset to read; of a RELEASE_GROUP its expiry, seconds since the epoch;
            0 in a CLAIMING_PARTITION, which has none.
        version: of the format.
    """

    kind: Kind
    time: int
    instance_id: bytes
    client_id: bytes
    group_id: bytes
    topic: bytes
    partition: int
    tail: int = 0
    version: int = VERSION


_KINDS: Final = {kind.value: kind for kind in Kind}
_FIELDS: Final = {kind: 8 if kind is Kind.CLAIMING_PARTITION else 9 for kind in Kind}
_LEAST: Final = 8


def decode(value: bytes | None) -> Message | Reject:
    """Read the value of a record.

    Args:
        value: of the record; None when it has none.

    Returns:
        The message, or the first rule the value breaks, in the order in which the original
        library looks.
    """
    if value is None:
        return Reject.NULL
    fields = value.split(b"/")
    if len(fields) < _LEAST:
        return Reject.FIELDS
    version, time, partition = _integer(fields[1]), _integer(fields[2]), _integer(fields[7])
    if version is None:
        return Reject.VERSION
    if partition is None:
        return Reject.PARTITION
    if time is None:
        return Reject.TIME
    kind = _KINDS.get(fields[0])
    if kind is None:
        return Reject.KIND
    if len(fields) != _FIELDS[kind]:
        return Reject.COUNT
    tail = 0 if kind is Kind.CLAIMING_PARTITION else _integer(fields[8])
    if tail is None:
        return Reject.TAIL
    if kind is Kind.RELEASE_GROUP and (fields[6] or partition):
        return Reject.RELEASE_GROUP
    return Message(kind, time, fields[3], fields[4], fields[5], fields[6], partition, tail, version)


def encode(message: Message) -> bytes:
    """Write a message; of what `decode` returns, the canonical form.

    Args:
        message: its ids have no slash; options and topic names are checked for it.
    """
    words = [
        message.kind.value,
        b"%d" % message.version,
        b"%d" % message.time,
        message.instance_id,
        message.client_id,
        message.group_id,
        message.topic,
        b"%d" % message.partition,
    ]
    if message.kind is not Kind.CLAIMING_PARTITION:
        words.append(b"%d" % message.tail)
    return b"/".join(words)


def _integer(field: bytes) -> int | None:
    """Read `[+-]?[0-9]+` of 64 bits; `int` alone would take spaces, too, and underscores."""
    if len(field) < _PLAIN and field.isdigit():
        return int(field)
    matched = _INTEGER.fullmatch(field)
    if matched is None or len(matched[2]) >= _DIGITS:
        return None
    found = -int(matched[2]) if matched[1] == b"-" else int(matched[2])
    return found if -_MOST <= found < _MOST else None


# -- extension -------------------------------------------------------------------------------------


_VERSION: Final = "kg-v"
_EPOCH: Final = "kg-epoch"
_START: Final = "kg-start"
_INTERVAL: Final = "kg-hi"
_TAKES_AT_MOST: Final = "kg-max"
NONCE: Final = "kg-nonce"

_NUMBER_DIGITS: Final = 19
_INTERVALS: Final = range(1, 61)


class Extension(NamedTuple):
    """The headers of one record of kgroup's.

    Args:
        epoch: offset of the claim; None in a claim itself.
        started: of the sender's process, milliseconds since the epoch.
        interval: between heartbeats, seconds, 1 to 60.
        nonce: of a claim.
        most: partitions that the sender takes at most, None for any number.
    """

    epoch: int | None = None
    started: int | None = None
    interval: int | None = None
    nonce: bytes | None = None
    most: int | None = None


def read_extension(headers: Iterable[tuple[str, bytes | None]]) -> Extension | Reject | None:
    """Read the headers of a record.

    Args:
        headers: (key, value), in order; of several with one key the last counts.

    Returns:
        What they say; None when their sender does not keep kgroup's rules; `Reject.HEADER` when
        it does, and one of them is nonsense.
    """
    found = dict(headers)
    if _VERSION not in found:
        return None
    try:
        epoch, started = _number(found.get(_EPOCH)), _number(found.get(_START))
        interval, most = _number(found.get(_INTERVAL)), _number(found.get(_TAKES_AT_MOST))
    except ValueError:
        return Reject.HEADER
    if interval is not None and interval not in _INTERVALS:
        return Reject.HEADER
    return Extension(epoch, started, interval, found.get(NONCE), most)


def write_extension(extension: Extension) -> list[tuple[str, bytes]]:
    """Write the headers of a record; what is None is left out."""
    words: list[tuple[str, bytes]] = [(_VERSION, b"1")]
    numbers = (
        (_EPOCH, extension.epoch),
        (_START, extension.started),
        (_INTERVAL, extension.interval),
        (_TAKES_AT_MOST, extension.most),
    )
    words += [(name, b"%d" % number) for name, number in numbers if number is not None]
    if extension.nonce is not None:
        words.append((NONCE, extension.nonce))
    return words


def _number(value: bytes | None) -> int | None:
    if value is None:
        return None
    if len(value) > _NUMBER_DIGITS or not value.isdigit():
        raise ValueError(
            f"{value[:_NUMBER_DIGITS]!r} is no number of up to {_NUMBER_DIGITS} digits"
        )
    return int(value)
