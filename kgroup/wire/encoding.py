"""Writes the encode function of one message class in one version.

Decides: how objects become bytes: neighbouring fields of fixed size, and the length after them,
are packed by one `struct` format; tagged fields at their default are left out (KIP-482).
Never: drops a value silently, unless the declaration calls the field ignorable and this version
lacks it.
"""

import functools
import struct
from collections.abc import Callable
from typing import Any

from kgroup.wire import primitives
from kgroup.wire.source import Declared, Layout, Source, Step, layout_of
from kgroup.wire.vocabulary import ArrayForm, RowForm, ScalarForm, TextForm


def write_encoder(cls: type[Declared], version: int, *, flexible: bool) -> Callable[[Any], bytes]:
    """Return a function that writes a message.

    It raises UnsupportedVersionError when a field holds what this version cannot carry, and what
    `struct` and Python raise when a value is not of its type.
    """
    writer = _Writer(cls.__name__, version, flexible=flexible)
    out = writer.source
    out.bind(
        pack=struct.pack, pack_uvarint=primitives.pack_uvarint, pack_tags=primitives.pack_tags,
        uvarints=primitives.UVARINTS, unsendable=primitives.unsendable,
        uuid_bytes=primitives.uuid_bytes,
    )  # fmt: skip
    with out.block("def encode(message):"):
        out.line("parts = []")
        out.line("put = parts.append")
        writer.row(cls, "message")
        out.line('return b"".join(parts)')
    return out.function("encode", f"encode {cls.__name__} v{version}")


class _Writer:
    """Writes code that calls `put` with the pieces of a message."""

    def __init__(self, title: str, version: int, *, flexible: bool) -> None:
        self.source = Source()
        self._title = title
        self._version = version
        self._flexible = flexible
        self._put = "put"
        self._fixed: list[tuple[str, str]] = []

    def row(self, cls: type[Declared], value: str) -> None:
        """Write code that packs one row, to the last byte."""
        layout = layout_of(cls, self._version)
        for step in layout.absent:
            self._refuse(cls, step, f"{value}.{step.name}")
        for step in layout.present:
            self._value(cls, step, f"{value}.{step.name}")
        if self._flexible:
            self._tagged(cls, layout, value)
        self._flush()

    def _refuse(self, cls: type[Declared], step: Step, value: str) -> None:
        """A value that would be lost is an error, unless it is the default or may be lost."""
        if step.ignorable:
            return
        upto = "" if step.until is None else f" to {step.until}"
        reason = f"cannot be sent in version {self._version}, only from {step.since}{upto}"
        with self.source.block(f"if {value} != {self.source.constant(step.default)}:"):
            self._raise(cls, step, reason)

    def _raise(self, cls: type[Declared], step: Step, reason: str) -> None:
        self.source.line(
            f"raise unsendable({self._title!r}, '{cls.__name__}.{step.name}', {reason!r})"
        )

    def _tagged(self, cls: type[Declared], layout: Layout, value: str) -> None:
        if not layout.tagged:
            self._fixed.append(("x", ""))
            return
        self._flush()
        out, tags = self.source, self.source.fresh("tags")
        out.line(f"{tags} = []")
        for step in layout.tagged:
            field = f"{value}.{step.name}"
            with out.block(f"if {field} != {out.constant(step.default)}:"):
                outer, inner = self._put, out.fresh("inner")
                out.line(f"{inner} = []")
                self._put = f"{inner}.append"
                self._value(cls, step, field)
                self._flush()
                self._put = outer
                out.line(f'{tags}.append(({step.tag}, b"".join({inner})))')
        out.line(f'{self._put}(pack_tags({tags}) if {tags} else b"\\0")')

    def _value(self, cls: type[Declared], step: Step, value: str) -> None:
        form, out = step.form, self.source
        if isinstance(form, ScalarForm):
            packed = f"uuid_bytes({value})" if form.format == "16s" else value
            self._fixed.append((form.format, packed))
            return
        name = out.fresh(step.name)
        out.line(f"{name} = {value}")
        if step.nullable_since is not None and not step.nullable:
            with out.block(f"if {name} is None:"):
                since = step.nullable_since
                self._raise(
                    cls, step, f"cannot be null in version {self._version}, only from {since}"
                )
        if isinstance(form, RowForm):
            self._row(step, form, name)
        elif isinstance(form, ArrayForm):
            self._array(step, form, name)
        else:
            self._blob(step, name, text=isinstance(form, TextForm))

    def _row(self, step: Step, form: RowForm, name: str) -> None:
        if not step.nullable:
            self.row(form.cls, name)
            return
        self._flush()
        with self.source.block(f"if {name} is None:"):
            null = "\\xff" if step.tag is None else "\\0"
            self.source.line(f'{self._put}(b"{null}")')
        with self.source.block("else:"):
            self._fixed.append(("b", "1"))
            self.row(form.cls, name)

    def _blob(self, step: Step, name: str, *, text: bool) -> None:
        out, code = self.source, "h" if text else "i"
        if text:
            encoded = f"{name}.encode()"
            out.line(
                f"{name} = {encoded}"
                + (f" if {name} is not None else None" if step.nullable else "")
            )
        if not step.nullable:
            self._length(code, f"len({name})")
            self._flush()
            out.line(f"{self._put}({name})")
            return
        self._flush()
        with out.block(f"if {name} is None:"):
            self._length(code, "-1")
            self._flush()
        with out.block("else:"):
            self._length(code, f"len({name})")
            self._flush()
            out.line(f"{self._put}({name})")

    def _array(self, step: Step, form: ArrayForm, name: str) -> None:
        out = self.source
        if not step.nullable:
            self._length("i", f"len({name})")
            self._items(form, name)
            return
        self._flush()
        with out.block(f"if {name} is None:"):
            self._length("i", "-1")
            self._flush()
        with out.block("else:"):
            self._length("i", f"len({name})")
            self._items(form, name)

    def _items(self, form: ArrayForm, name: str) -> None:
        out, item = self.source, form.item
        self._flush()
        if isinstance(item, ScalarForm):
            out.line(f'{self._put}(pack(f">{{len({name})}}{item.format}", *{name}))')
            return
        one = out.fresh("one")
        with out.block(f"for {one} in {name}:"):
            if isinstance(item, RowForm):
                self.row(item.cls, one)
                return
            out.line(f"{one} = {one}.encode()")
            self._length("h", f"len({one})")
            self._flush()
            out.line(f"{self._put}({one})")

    def _length(self, code: str, value: str) -> None:
        if not self._flexible:
            self._fixed.append((code, value))
            return
        self._flush()
        if value == "-1":
            self._fixed.append(("x", ""))
            return
        length = self.source.fresh("n")
        self.source.line(f"{length} = {value} + 1")
        short = f"uvarints[{length}] if {length} < 128 else pack_uvarint({length})"
        self.source.line(f"{self._put}({short})")

    def _flush(self) -> None:
        """Write the one `struct` call that packs the fixed fields gathered so far."""
        if not self._fixed:
            return
        layout = ">" + "".join(code for code, _ in self._fixed)
        values = ", ".join(value for _, value in self._fixed if value)
        packer = self.source.constant(_packer(layout), "pack")
        self.source.line(f"{self._put}({packer}({values}))")
        self._fixed.clear()


@functools.cache
def _packer(layout: str) -> Callable[..., bytes]:
    return struct.Struct(layout).pack
