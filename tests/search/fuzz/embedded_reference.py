"""A second reader of subscriptions, assignments and sticky user data: field by field, and plain.

Decides: what the bytes mean, and by name why they are not what we would write for that.
"""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from kgroup.types import TopicPartition
from kgroup.wire.classic_bytes import utf16_order
from kgroup.wire.consumer_protocol import NEWEST_VERSION
from tests.search.fuzz.reference import Refused


class Liberty(Enum):
    """Why bytes are not written as they were read, though they mean the same."""

    NEWER = "another version is written as the newest of ours, without what it appended"
    MORE_BYTES = "bytes that follow are ignored, as in Java"
    ORDER = "topics and owned partitions are sorted"
    ROWS = "rows of one topic are joined, rows without partitions left out"
    REPLACED = "a name that is not UTF-8 was mended, as in Java"
    OTHER_NULL = "a length below -1 is null too, as in Java"
    NO_OWNED = "a version 1 without owned partitions is read as version 0"
    ABSENT = "a generation below zero is none, an empty rack is none"
    NOTHING = "no bytes at all mean no partitions"


class Subscription(NamedTuple):
    """A subscription; see `MemberSubscription`."""

    version: int
    topics: list[str]
    user_data: bytes | None
    owned: list[TopicPartition]
    generation_id: int | None
    rack: str | None


class PlainReader:
    """Reads from bytes; `liberties` says what was not as we write it."""

    def __init__(self, data: bytes) -> None:
        self.liberties: set[Liberty] = set()
        self._data = data
        self._at = 0

    def left(self) -> int:
        return len(self._data) - self._at

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def text(self) -> str | None:
        raw = self._sized(2)
        if raw is None:
            return None
        text = raw.decode(errors="replace")
        if text.encode() != raw:
            self.liberties.add(Liberty.REPLACED)
        return text

    def blob(self) -> bytes | None:
        return self._sized(4)

    def name(self) -> str:
        text = self.text()
        if text is None:
            raise Refused("a name is null")
        return text

    def many(self, read: Callable[[], object]) -> None:
        count = self.number(4)
        if count < 0 or count > self.left():
            raise Refused(f"{count} items")
        for _ in range(count):
            read()

    def partitions(self) -> list[TopicPartition]:
        found: list[TopicPartition] = []
        seen: set[str] = set()

        def row() -> None:
            topic, before = self.name(), len(found)
            self.many(lambda: found.append(TopicPartition(topic, self.number(4))))
            if topic in seen or len(found) == before:
                self.liberties.add(Liberty.ROWS)
            seen.add(topic)

        self.many(row)
        return found

    def end(self) -> None:
        if self.left():
            self.liberties.add(Liberty.MORE_BYTES)

    def _sized(self, width: int) -> bytes | None:
        length = self.number(width)
        if length < -1:
            self.liberties.add(Liberty.OTHER_NULL)
        return None if length < 0 else self._take(length)

    def _take(self, size: int) -> bytes:
        if size > self.left():
            raise Refused("the bytes end too early")
        self._at += size
        return self._data[self._at - size : self._at]


def read_subscription(data: bytes) -> tuple[Subscription, set[Liberty]]:
    """Read a subscription.

    Raises:
        Refused: the bytes are not one.
    """
    reader = PlainReader(data)
    version = _version(reader)
    topics: list[str] = []
    reader.many(lambda: topics.append(reader.name()))
    user_data = reader.blob()
    if version == 1 and not reader.left():
        reader.liberties.add(Liberty.NO_OWNED)
        version = 0
    owned = reader.partitions() if version >= 1 else []
    generation_id = reader.number(4) if version >= 2 else -1
    rack = reader.text() if version >= 3 else None
    reader.end()
    if generation_id < -1 or rack == "":
        reader.liberties.add(Liberty.ABSENT)
    if version > NEWEST_VERSION:
        reader.liberties.add(Liberty.NEWER)
    by_name = [(utf16_order(tp.topic), tp.partition) for tp in owned]
    if topics != sorted(topics, key=utf16_order) or by_name != sorted(by_name):
        reader.liberties.add(Liberty.ORDER)
    generation = generation_id if generation_id >= 0 else None
    read = Subscription(version, topics, user_data, owned, generation, rack or None)
    return read, reader.liberties


def read_assignment(
    data: bytes,
) -> tuple[tuple[list[TopicPartition], bytes | None], set[Liberty]]:
    """Read an assignment.

    Raises:
        Refused: the bytes are not one.
    """
    if not data:
        return ([], None), {Liberty.NOTHING}
    reader = PlainReader(data)
    if _version(reader) != NEWEST_VERSION:
        reader.liberties.add(Liberty.NEWER)
    partitions = reader.partitions()
    user_data = reader.blob()
    reader.end()
    return (partitions, user_data), reader.liberties


def read_sticky(data: bytes) -> tuple[tuple[list[TopicPartition], int | None], set[Liberty]]:
    """Read the user data of the eager sticky assignor.

    Raises:
        Refused: the bytes are neither of its forms.
    """
    reader = PlainReader(data)
    partitions = reader.partitions()
    generation_id = reader.number(4) if reader.left() >= 4 else None
    reader.end()
    if generation_id is not None and generation_id < 0:
        reader.liberties.add(Liberty.ABSENT)
        generation_id = None
    return (partitions, generation_id), reader.liberties


def _version(reader: PlainReader) -> int:
    version = reader.number(2)
    if version < 0:
        raise Refused(f"version {version}")
    return version
