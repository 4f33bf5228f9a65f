"""Kafka's classic (non-flexible) primitive types, as the embedded protocols use them.

Decides: how int16, int32, string, bytes and rows of `topic [int32]` are read and written.
Never: allocates for a count or a length before it is checked against the bytes that are left;
raises anything but `DecodeError` while reading and `LocalProtocolError` while writing.

    string = int16 length, UTF-8        bytes = int32 length (-1 = null), data
    rows   = int32 count, [ string topic, int32 count, [int32 partition] ]
"""

import struct
from collections.abc import Callable, Iterable, Sequence

from kgroup.errors import DecodeError, LocalProtocolError
from kgroup.types import TopicPartition
from kgroup.wire.partition_runs import PartitionRuns, runs_of

INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")
PAIR = struct.Struct(">ii")
SMALLEST_STRING = INT16.size
SMALLEST_ROW = INT16.size + INT32.size


def utf16_order(text: str) -> bytes:
    """Return the sorting key of Java's strings: by UTF-16 code unit, not by code point."""
    return text.encode("utf-16-be", "surrogatepass")


class ClassicReader:
    """Reads one structure from its first byte on; every read is bounded by what is left.

    Args:
        what: name of the structure, for errors.
        data: the whole structure.
        names: topic names that were read before, by their bytes; more are added. The members of
            a group name the same topics, so a caller passes one dictionary to all, and a
            name is one string however often it comes. None starts anew.
    """

    def __init__(self, what: str, data: bytes, names: dict[bytes, str] | None = None) -> None:
        self._what = what
        self._data = data
        self._names: dict[bytes, str] = {} if names is None else names
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._at

    def int16(self) -> int:
        """Read a signed 16-bit number."""
        number: int = INT16.unpack_from(self._data, self._take(INT16.size, "int16"))[0]
        return number

    def int32(self) -> int:
        """Read a signed 32-bit number."""
        number: int = INT32.unpack_from(self._data, self._take(INT32.size, "int32"))[0]
        return number

    def string(self) -> str:
        """Read a string that must not be null; bad UTF-8 is replaced, as Java does."""
        text = self.nullable_string()
        if text is None:
            raise self._error("a string is null where null is not allowed")
        return text

    def nullable_string(self) -> str | None:
        """Read a string; any negative length is null."""
        length = self.int16()
        if length < 0:
            return None
        start = self._take(length, "string")
        return str(self._data[start : start + length], "utf-8", "replace")

    def nullable_bytes(self) -> bytes | None:
        """Read bytes; any negative length is null, as in Java's reader."""
        length = self.int32()
        if length < 0:
            return None
        start = self._take(length, "bytes")
        return bytes(self._data[start : start + length])

    def count(self, smallest: int) -> int:
        """Read the length of an array whose elements take at least `smallest` bytes each."""
        count = self.int32()
        if count < 0 or count * smallest > self.left:
            raise self._error(f"an array of {count} elements, with {self.left} bytes left")
        return count

    def names(self) -> list[str]:
        """Read an array of topic names; none may be null."""
        count = self.count(SMALLEST_STRING)
        data, at, end, known = self._data, self._at, len(self._data), self._names
        found: list[str] = []
        for _ in range(count):
            length = INT16.unpack_from(data, at)[0] if at + INT16.size <= end else -1
            stop = at + INT16.size + length
            if length < 0 or stop > end:
                self._at = at
                raise self._refusal(self.string)
            raw = data[at + INT16.size : stop]
            name = known.get(raw)
            if name is None:
                name = known[raw] = str(raw, "utf-8", "replace")
            found.append(name)
            at = stop
        self._at = at
        return found

    def partitions(self) -> PartitionRuns:
        """Read rows of partitions by topic; order and repetitions stay as they are.

        A leader reads a million rows, so a whole row is read at once here; one that does not fit
        is read again field by field, which says what is wrong with it.
        """
        rows = self.count(SMALLEST_ROW)
        data, at, end = self._data, self._at, len(self._data)
        int16_at, int32_at, known = INT16.unpack_from, INT32.unpack_from, self._names
        found: list[tuple[str, tuple[int, ...]]] = []
        try:
            for _ in range(rows):
                name_at = at + INT16.size
                name_end = name_at + int16_at(data, at)[0]
                count = int32_at(data, name_end)[0]
                if name_end < name_at or not 0 <= count * INT32.size <= end - name_end:
                    break
                numbers_at = name_end + INT32.size
                numbers = (
                    int32_at(data, numbers_at)
                    if count == 1
                    else struct.unpack_from(f">{count}i", data, numbers_at)
                )
                raw = data[name_at:name_end]
                name = known.get(raw)
                if name is None:
                    name = known[raw] = str(raw, "utf-8", "replace")
                found.append((name, numbers))
                at = numbers_at + count * INT32.size
        except struct.error:
            pass  # cut off within a field
        self._at = at
        if len(found) < rows:
            raise self._refusal(self._slow_row)
        return PartitionRuns(found)

    def _slow_row(self) -> None:
        self.string()
        self._take(self.count(INT32.size) * INT32.size, "partitions")

    def _refusal(self, read: Callable[[], object]) -> DecodeError:
        """Return the error that reading field by field ends with."""
        try:
            read()
        except DecodeError as error:
            return error
        return self._error("a field that cannot be read")

    def _take(self, size: int, what: str) -> int:
        start = self._at
        if size > len(self._data) - start:
            raise self._error(f"{what} of {size} bytes, with {self.left} bytes left")
        self._at = start + size
        return start

    def _error(self, reason: str) -> DecodeError:
        return DecodeError(self._what, reason, position=self._at)


class ClassicWriter:
    """Collects the bytes of one structure.

    Args:
        what: name of the structure, for errors.
        names: topic names that were written before, with their bytes; more are added. A
            caller that writes for all members of a group passes one dictionary. None starts anew.
    """

    def __init__(self, what: str, names: dict[str, bytes] | None = None) -> None:
        self._what = what
        self._names: dict[str, bytes] = {} if names is None else names
        self._parts: list[bytes] = []

    def int16(self, number: int) -> None:
        """Write a signed 16-bit number."""
        self._pack(INT16, number)

    def int32(self, number: int) -> None:
        """Write a signed 32-bit number."""
        self._pack(INT32, number)

    def string(self, text: str) -> None:
        """Write a string of at most 32,767 bytes of UTF-8."""
        self._parts.append(self._string(text))

    def _string(self, text: str) -> bytes:
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            raise LocalProtocolError(f"{self._what}: {text!r} is not valid text") from error
        return self._packed(INT16, len(data)) + data

    def nullable_string(self, text: str | None) -> None:
        """Write a string, or null as length -1."""
        if text is None:
            self.int16(-1)
        else:
            self.string(text)

    def nullable_bytes(self, data: bytes | None) -> None:
        """Write bytes, or null as length -1."""
        if data is None:
            self.int32(-1)
        else:
            self.int32(len(data))
            self._parts.append(data)

    def partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Write rows by topic: topics by first appearance, partitions in the order given."""
        rows: dict[str, Sequence[int]] = {}
        for topic, numbers in runs_of(partitions):
            rows[topic] = [*rows[topic], *numbers] if topic in rows else numbers
        self.int32(len(rows))
        known, add, pair = self._names, self._parts.append, PAIR.pack
        for topic, numbers in rows.items():
            name = known.get(topic)
            if name is None:
                name = known[topic] = self._string(topic)
            add(name)
            count = len(numbers)
            try:
                add(
                    pair(1, numbers[0])
                    if count == 1
                    else struct.pack(f">{count + 1}i", count, *numbers)
                )
            except struct.error as error:
                raise LocalProtocolError(
                    f"{self._what}: partitions of {topic!r} are not 32-bit numbers: {error}"
                ) from error

    def done(self) -> bytes:
        """Return everything written."""
        return b"".join(self._parts)

    def _pack(self, form: struct.Struct, number: int) -> None:
        self._parts.append(self._packed(form, number))

    def _packed(self, form: struct.Struct, number: int) -> bytes:
        try:
            return form.pack(number)
        except struct.error as error:
            raise LocalProtocolError(
                f"{self._what}: {number!r} does not fit {form.size} bytes: {error}"
            ) from error
