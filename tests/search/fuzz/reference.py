"""A second reader of messages: slow, plain, and with nothing of the first but the declarations.

Decides: what bytes mean by the rules of the protocol, field by field, and how they would have been
written by a writer that has only one way to write a value. What bytes may differ in from that is
an `Exemption`, by name.
Never: plans, caches, generates code, or reads two rows at once, as `kgroup.wire.decoding` does.

KIP-482 (compact forms, tagged fields); a nullable row has a marker before it (KIP-848).
"""

import struct
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from kgroup.wire.schema import Message
from kgroup.wire.source import Layout, Step, layout_of
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm, TextForm

Row = Mapping[str, Any]


class Exemption(Enum):
    """Why bytes are not written as they were read."""

    UNKNOWN_TAG = "a tagged field that this release does not know is dropped"
    DEFAULT_TAG = "a tagged field at its default is left out"
    LONG_VARINT = "a varint is longer than it need be"
    BOOLEAN = "a boolean is neither 0 nor 1"
    REPLACED_TEXT = "words for people are not UTF-8 and were replaced"
    ROW_MARKER = "the marker of a row that may be null is neither -1 nor 1"
    FALLBACK = "ApiVersions is answered in version 0 (KIP-511)"


class Refused(Exception):
    """The bytes are not such a message; the text says why."""


class Reading:
    """Reads one message, and writes it down as it should be.

    Args:
        version: of the message.
        flexible: whether that has compact forms and tagged fields.
        data: the bytes.
    """

    def __init__(self, version: int, data: bytes, *, flexible: bool) -> None:
        self.exemptions: set[Exemption] = set()
        self._version = version
        self._flexible = flexible
        self._data = data
        self._at = 0

    def message(self, cls: type[Message]) -> tuple[Row, bytes]:
        """Return the fields of the message, and its bytes as they should be."""
        row, out = self._row(cls)
        if self._at != len(self._data):
            raise Refused("bytes are left over")
        return row, out

    def behind_tags(self) -> int:
        """Return where a section of tagged fields ends that the bytes begin with."""
        self._tags(Layout((), (), ()), {})
        return self._at

    # -- pieces ------------------------------------------------------------------------------

    def _take(self, size: int) -> bytes:
        if size < 0 or size > len(self._data) - self._at:
            raise Refused("the bytes end too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def _scalar(self, code: str, size: int) -> Any:
        return struct.unpack(f">{code}", self._take(size))[0]

    def _uvarint(self) -> int:
        value = 0
        for index in range(5):
            (byte,) = self._take(1)
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                if value >> 32:
                    raise Refused("a varint of more than 32 bits")
                if index and not byte:
                    self.exemptions.add(Exemption.LONG_VARINT)
                return value
        raise Refused("a varint of more than 5 bytes")

    def _length(self, code: str) -> int:
        if self._flexible:
            return self._uvarint() - 1
        return int(self._scalar(code, 2 if code == "h" else 4))

    def _length_bytes(self, code: str, length: int) -> bytes:
        return uvarint(length + 1) if self._flexible else struct.pack(f">{code}", length)

    # -- rows --------------------------------------------------------------------------------

    def _row(self, cls: type[Message]) -> tuple[Row, bytes]:
        known: Any = cls
        layout = _layout(known, self._version)
        values: dict[str, Any] = {}
        parts = []
        for step in layout.present:
            values[step.name], out = self._value(step)
            parts.append(out)
        if self._flexible:
            parts.append(self._tags(layout, values))
        for step in layout.absent:
            values[step.name] = step.default
        return values, b"".join(parts)

    def _tags(self, layout: Layout, values: dict[str, Any]) -> bytes:
        known = {step.tag: step for step in layout.tagged}
        values.update({step.name: step.default for step in layout.tagged})
        count, last = self._uvarint(), -1
        kept: list[tuple[int, bytes]] = []
        for _ in range(count):
            tag, size = self._uvarint(), self._uvarint()
            if tag <= last:
                raise Refused("tags do not rise")
            last, end = tag, self._at + size
            if end > len(self._data):
                raise Refused("a tagged field goes past the end")
            step = known.get(tag)
            if step is None:
                self.exemptions.add(Exemption.UNKNOWN_TAG)
                self._take(size)
                continue
            value, out = self._value(step)
            if self._at != end:
                raise Refused("a tagged field does not end where its size says")
            values[step.name] = value
            if same(value, step.default):
                self.exemptions.add(Exemption.DEFAULT_TAG)
            else:
                kept.append((tag, out))
        packed = (uvarint(tag) + uvarint(len(out)) + out for tag, out in kept)
        return uvarint(len(kept)) + b"".join(packed)

    def _value(self, step: Step) -> tuple[Any, bytes]:
        form = step.form
        if isinstance(form, ScalarForm):
            return self._number(form)
        if isinstance(form, RowForm):
            return self._optional_row(form) if step.nullable else self._row(form.cls)
        code = "h" if isinstance(form, TextForm) else "i"
        length = self._length(code)
        if length < 0:
            if length != -1 or not step.nullable:
                raise Refused(f"{step.name} has length {length}")
            return None, self._length_bytes(code, -1)
        return self._sized(form, length, code)

    def _number(self, form: ScalarForm) -> tuple[Any, bytes]:
        raw = self._take(form.size)
        if form.format == "?":
            if raw not in (b"\0", b"\1"):
                self.exemptions.add(Exemption.BOOLEAN)
            return raw != b"\0", bytes((raw != b"\0",))
        return struct.unpack(f">{form.format}", raw)[0], raw

    def _optional_row(self, form: RowForm) -> tuple[Any, bytes]:
        marker = self._scalar("b", 1)
        if marker not in (-1, 1):
            self.exemptions.add(Exemption.ROW_MARKER)
        if marker < 0:
            return None, b"\xff"
        row, out = self._row(form.cls)
        return row, b"\1" + out

    def _sized(self, form: Form, length: int, code: str) -> tuple[Any, bytes]:
        if isinstance(form, ArrayForm):
            return self._array(form.item, length)
        raw = self._take(length)
        if isinstance(form, BlobForm):
            return raw, self._length_bytes(code, length) + raw
        assert isinstance(form, TextForm)
        text, out = self._text(form, raw)
        return text, self._length_bytes(code, len(out)) + out

    def _text(self, form: TextForm, raw: bytes) -> tuple[str, bytes]:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            if not form.lossy:
                raise Refused("text is not UTF-8") from error
            self.exemptions.add(Exemption.REPLACED_TEXT)
            text = raw.decode(errors="replace")
        out = text.encode()
        if not self._flexible and len(out) > 0x7FFF:
            out = out[:0x7FFF]  # cannot be written at all: the exemption says why
        return text, out

    def _array(self, item: Form, count: int) -> tuple[Any, bytes]:
        least = item.size if isinstance(item, ScalarForm) else 1
        if count * least > len(self._data) - self._at:
            raise Refused("more items than bytes")
        values, parts = [], [self._length_bytes("i", count)]
        for _ in range(count):
            value, out = self._item(item)
            values.append(value)
            parts.append(out)
        return tuple(values), b"".join(parts)

    def _item(self, item: Form) -> tuple[Any, bytes]:
        if isinstance(item, ScalarForm):
            return self._number(item)
        if isinstance(item, RowForm):
            return self._row(item.cls)
        length = self._length("h")
        if length < 0:
            raise Refused(f"an item has length {length}")
        return self._sized(item, length, "h")


@cache
def _layout(cls: Any, version: int) -> Layout:
    return layout_of(cls, version)


def uvarint(value: int) -> bytes:
    """Write an unsigned varint in the shortest form."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def same(read: Any, value: Any) -> bool:
    """Tell whether what was read here is what a message, or a part of one, holds."""
    if isinstance(read, Message):  # a default
        return bool(read == value)
    if isinstance(value, Message):
        return isinstance(read, Mapping) and all(
            same(read[name], getattr(value, name)) for name in value.FIELDS
        )
    if isinstance(value, tuple):
        return len(read) == len(value) and all(
            same(one, other) for one, other in zip(read, value, strict=True)
        )
    return bool(read == value)
