"""Whom a record of `__consumer_offsets` is about.

Decides: the bytes of a key: a type, then classic fields that depend on it; and which types are
read. Those of share groups and of streams groups are known by their number, and not read.
Never: skips bytes that it cannot place: a key is read to its end.
KIPs: 848 (types 3 to 8, and 16), 932 (9 to 15).

    0, 1            group, topic, int32 partition
    2, 3, 4, 6      group
    5, 7, 8         group, member
    16              group, pattern
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from kgroup.errors import DecodeError
from kgroup.wire.classic_bytes import ClassicReader

KEY: Final = "key of an offsets log"


class RecordType(IntEnum):
    """The number that opens a key; those that are read."""

    OLD_COMMIT = 0
    COMMIT = 1
    GROUP = 2
    """A generation of a classic group."""
    EPOCH = 3
    """An epoch of a group of KIP-848, as the next ones are of these."""
    TOPICS = 4
    """Partitions of the topics; from 4.1 on only removed."""
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    """What a member is to have."""
    CURRENT = 8
    """What a member has."""
    PATTERN = 16
    """Topics that match a pattern."""


class CommitKey(NamedTuple):
    """A committed offset.

    Args:
        type: OLD_COMMIT or COMMIT.
        group: its name.
        topic: its name.
        partition: number of the partition.
    """

    type: RecordType
    group: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """A group.

    Args:
        type: GROUP, EPOCH, TOPICS or TARGET_EPOCH.
        group: its name.
    """

    type: RecordType
    group: str


class MemberKey(NamedTuple):
    """A member of a group of KIP-848.

    Args:
        type: MEMBER, TARGET or CURRENT.
        group: name of the group.
        member: its id.
    """

    type: RecordType
    group: str
    member: str


class PatternKey(NamedTuple):
    """A pattern that members of a group have subscribed to.

    Args:
        type: PATTERN.
        group: name of the group.
        pattern: a regular expression.
    """

    type: RecordType
    group: str
    pattern: str


class OtherKey(NamedTuple):
    """A record that is not read.

    Args:
        type: its number.
    """

    type: int


Key: TypeAlias = CommitKey | GroupKey | MemberKey | PatternKey | OtherKey

_TYPES: Final = {kind.value: kind for kind in RecordType}


def read_key(data: bytes | None) -> Key:
    """Read the key of a record.

    Raises:
        DecodeError: there is none, or its bytes are cut off, too many, or contradict themselves.
    """
    if data is None:
        raise DecodeError(KEY, "the record has no key", position=0)
    reader = ClassicReader(KEY, data)
    number = reader.int16()
    kind = _TYPES.get(number)
    if number < 0:
        raise DecodeError(KEY, f"type {number} is negative", position=0)
    if kind is None:
        return OtherKey(number)
    found = _read(kind, reader)
    if reader.left:
        raise DecodeError(KEY, f"{reader.left} bytes behind type {number}", position=len(data))
    return found


def _read(kind: RecordType, reader: ClassicReader) -> Key:
    group = reader.string()
    match kind:
        case RecordType.OLD_COMMIT | RecordType.COMMIT:
            return CommitKey(kind, group, reader.string(), reader.int32())
        case RecordType.MEMBER | RecordType.TARGET | RecordType.CURRENT:
            return MemberKey(kind, group, reader.string())
        case RecordType.PATTERN:
            return PatternKey(kind, group, reader.string())
        case _:
            return GroupKey(kind, group)
