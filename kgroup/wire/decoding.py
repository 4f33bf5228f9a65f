"""Writes the decode function of one message class in one version.

Decides: how bytes become objects fast. Neighbouring fields of fixed size, and the length after
them, are read by one `struct` format. Two rows of an array in a row with equal lengths start a
run: the rows behind them are read by one format until one differs. Objects are filled as drafts,
whose attributes can be set, and then become immutable by taking their real class.
Never: trusts a length or count. Slices cannot go past the end, and the last position must be the
end of the bytes, so a text that was cut short never comes out of a decoder.

KIP-482 (compact forms, tagged fields).
"""

import functools
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kgroup.errors import DecodeError
from kgroup.wire import primitives
from kgroup.wire.primitives import RunPart
from kgroup.wire.source import Declared, Layout, Source, Step, has_views, layout_of
from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, ScalarForm, TextForm

_PLANS_KEPT: Final = 64
_SHORTEST_RUN: Final = 3


def write_decoder(
    cls: type[Declared], version: int, *, flexible: bool
) -> Callable[[primitives.Buffer], Any]:
    """Return a function that reads a message from all of some bytes.

    It takes `bytes`, or a `memoryview` where the message holds record data, and raises nothing
    but DecodeError, whatever the bytes are.
    """
    writer = _Writer(version, flexible=flexible, views=has_views(cls))
    title = f"{cls.__name__} v{version}"
    out, what = writer.source, writer.source.constant(title)
    out.bind(
        DecodeError=DecodeError, StructError=struct.error, unpack_from=struct.unpack_from,
        read_uvarint=primitives.read_uvarint, read_tags=primitives.read_tags,
        bad_length=primitives.bad_length, too_many=primitives.too_many, ended=primitives.ended,
    )  # fmt: skip
    with out.block("def decode(d):"):
        out.line("p, end, view = 0, len(d), memoryview(d)")
        with out.block("try:"):
            made = writer.row(cls)
        with out.block("except (StructError, IndexError):"):
            out.line(f"raise ended({what}, end + 1, end) from None")
        with out.block("except UnicodeDecodeError as error:"):
            out.line(f"raise DecodeError({what}, f'text is not UTF-8: {{error}}', position=p)")
        with out.block("if p != end:"):
            out.line(f"raise ended({what}, p, end)")
        out.line(f"return {made}")
    return out.function("decode", f"decode {title}")


class _Writer:
    """Writes code that reads `d` from position `p`; `end` is its length, `view` a view of it."""

    def __init__(self, version: int, *, flexible: bool, views: bool) -> None:
        self.source = Source()
        self._version = version
        self._flexible = flexible
        self._views = views
        self._fixed: list[tuple[str, int, str]] = []

    # -- rows ------------------------------------------------------------------------------

    def row(self, cls: type[Declared]) -> str:
        """Write code that reads one row; return the name of the object."""
        values, _ = self._fields(cls, layout_of(cls, self._version))
        return self._build(cls, values)

    def _fields(self, cls: type[Declared], layout: Layout) -> tuple[dict[str, str], list[str]]:
        """Write code that reads the fields; return their expressions and the names of lengths."""
        values: dict[str, str] = {}
        lengths: list[str] = []
        for step in layout.present:
            values[step.name], length = self._value(cls, step)
            if length:
                lengths.append(length)
        self._flush()
        if self._flexible:
            self._tagged(cls, layout, values)
        for step in layout.absent:
            values[step.name] = self.source.constant(step.default)
        return values, lengths

    def _build(self, cls: type[Declared], values: dict[str, str]) -> str:
        made = self.source.fresh("row")
        draft = self.source.constant(_draft_of(cls), f"{cls.__name__}Draft")
        self.source.line(f"{made} = {draft}()")
        for name, value in values.items():
            self.source.line(f"{made}.{name} = {value}")
        self.source.line(f"{made}.__class__ = {self.source.constant(cls, cls.__name__)}")
        return made

    def _tagged(self, cls: type[Declared], layout: Layout, values: dict[str, str]) -> None:
        out = self.source
        for step in layout.tagged:
            values[step.name] = out.fresh(step.name)
        with out.block("if d[p] == 0:"):
            out.line("p += 1")
            for step in layout.tagged:
                out.line(f"{values[step.name]} = {out.constant(step.default)}")
        with out.block("else:"):
            spans, behind = out.fresh("spans"), out.fresh("behind")
            known = out.constant(frozenset(step.tag for step in layout.tagged))
            out.line(f"{spans}, p = read_tags(d, p, {known})")
            out.line(f"{behind} = p")
            for step in layout.tagged:
                self._one_tagged(cls, step, spans, values[step.name])
            out.line(f"p = {behind}")

    def _one_tagged(self, cls: type[Declared], step: Step, spans: str, name: str) -> None:
        out, stop = self.source, self.source.fresh("stop")
        with out.block(f"if {step.tag} in {spans}:"):
            out.line(f"p, {stop} = {spans}[{step.tag}]")
            value, _ = self._value(cls, step)
            self._flush()
            with out.block(f"if p != {stop}:"):
                out.line(f"raise ended({_where(cls, step)!r}, p, {stop})")
            out.line(f"{name} = {value}")
        with out.block("else:"):
            out.line(f"{name} = {out.constant(step.default)}")

    # -- values ----------------------------------------------------------------------------

    def _value(self, cls: type[Declared], step: Step) -> tuple[str, str]:
        """Write code that reads one field; return its expression and the name of its length."""
        form, name = step.form, self.source.fresh(step.name)
        if isinstance(form, ScalarForm):
            self._fixed.append((form.format, form.size, name))
            return name, ""
        if isinstance(form, RowForm):
            return (
                self._optional_row(step, form, name) if step.nullable else self.row(form.cls)
            ), ""
        length = self.source.fresh("n")
        self._length(length, "h" if isinstance(form, TextForm) else "i")
        with self._unless_null(cls, step, length, name):
            self._sized(_where(cls, step), form, length, name)
        return name, length

    def _optional_row(self, step: Step, form: RowForm, name: str) -> str:
        """A row that may be null has a byte before it: below zero = null, in a tag zero."""
        out, marker = self.source, self.source.fresh("marker")
        self._fixed.append(("b", 1, marker))
        self._flush()
        with out.block(f"if {marker} {'< 0' if step.tag is None else '== 0'}:"):
            out.line(f"{name} = None")
        with out.block("else:"):
            out.line(f"{name} = {self.row(form.cls)}")
        return name

    def _length(self, name: str, code: str) -> None:
        if not self._flexible:
            self._fixed.append((code, 2 if code == "h" else 4, name))
            self._flush()
            return
        self._flush()
        out = self.source
        out.line(f"{name} = d[p] - 1")
        with out.block(f"if {name} < 127:"):
            out.line("p += 1")
        with out.block("elif d[p + 1] < 128:"):
            out.line(f"{name} += (d[p + 1] << 7) - 128")
            out.line("p += 2")
        with out.block("else:"):
            out.line(f"{name}, p = read_uvarint(d, p)")
            out.line(f"{name} -= 1")

    @contextmanager
    def _unless_null(
        self, cls: type[Declared], step: Step, length: str, name: str
    ) -> Iterator[None]:
        out = self.source
        wrong = f"raise bad_length({_where(cls, step)!r}, {length}, p)"
        if not step.nullable:
            with out.block(f"if {length} < 0:"):
                out.line(wrong)
            yield
            return
        with out.block(f"if {length} < 0:"):
            if not self._flexible:
                with out.block(f"if {length} != -1:"):
                    out.line(wrong)
            out.line(f"{name} = None")
        with out.block("else:"):
            yield

    def _sized(self, where: str, form: Form, length: str, name: str) -> None:
        out = self.source
        if isinstance(form, ArrayForm):
            least = form.item.size if isinstance(form.item, ScalarForm) else 1
            size = length if least == 1 else f"{length} * {least}"
            with out.block(f"if {size} > end - p:"):
                out.line(f"raise too_many({where!r}, {length}, p)")
            self._array(where, form, length, name)
            return
        stop = out.fresh("q")
        out.line(f"{stop} = p + {length}")
        out.line(f"{name} = {self._taken(form, f'd[p:{stop}]')}")
        out.line(f"p = {stop}")

    def _taken(self, form: Form, piece: str) -> str:
        """Return the expression that makes a value out of a piece of the bytes."""
        if isinstance(form, TextForm):
            errors = ', "replace"' if form.lossy else ""
            if self._views or form.lossy:
                return f'str({piece}, "utf-8"{errors})'
            return f"{piece}.decode()"
        assert isinstance(form, BlobForm)
        return f"bytes({piece})" if self._views and not form.view else piece

    # -- arrays ----------------------------------------------------------------------------

    def _array(self, where: str, form: ArrayForm, count: str, name: str) -> None:
        out, item = self.source, form.item
        if isinstance(item, ScalarForm):
            ready = out.constant(_unpackers(item.format), "read")
            spare = f'unpack_from(f">{{{count}}}{item.format}", d, p)'
            out.line(
                f"{name} = {ready}[{count}](d, p) if {count} < {primitives.SHORT} else {spare}"
            )
            out.line(f"p += {count} * {item.size}")
            return
        items, add = out.fresh("items"), out.fresh("add")
        out.line(f"{items} = []")
        out.line(f"{add} = {items}.append")
        if isinstance(item, RowForm):
            self._rows(item.cls, count, items, add)
        else:
            self._texts(where, item, count, add)
        out.line(f"{name} = tuple({items})")

    def _texts(self, where: str, item: TextForm, count: str, add: str) -> None:
        out, length = self.source, self.source.fresh("n")
        with out.block(f"for _ in range({count}):"):
            self._length(length, "h")
            with out.block(f"if {length} < 0:"):
                out.line(f"raise bad_length({where!r}, {length}, p)")
            stop = out.fresh("q")
            out.line(f"{stop} = p + {length}")
            out.line(f"{add}({self._taken(item, f'd[p:{stop}]')})")
            out.line(f"p = {stop}")

    def _rows(self, cls: type[Declared], count: str, items: str, add: str) -> None:
        out = self.source
        layout = layout_of(cls, self._version)
        if not _fits_a_run(layout):
            with out.block(f"for _ in range({count}):"):
                out.line(f"{add}({self.row(cls)})")
            return
        left = out.fresh("left")
        out.line(f"{left} = {count}")
        sized = [step for step in layout.present if not isinstance(step.form, ScalarForm)]
        seen = [out.fresh("seen") for _ in sized]
        for was in seen:
            out.line(f"{was} = None")
        with out.block(f"while {left}:"):
            out.line(f"{left} -= 1")
            values, lengths = self._fields(cls, layout)
            out.line(f"{add}({self._build(cls, values)})")
            alike = [f"{length} == {was}" for length, was in zip(lengths, seen, strict=True)]
            with out.block(f"if {' and '.join((*alike, f'{left} >= {_SHORTEST_RUN}'))}:"):
                self._run(cls, layout, lengths, (left, items, add))
            for length, was in zip(lengths, seen, strict=True):
                out.line(f"{was} = {length}")

    def _run(
        self, cls: type[Declared], layout: Layout, lengths: list[str], loop: tuple[str, ...]
    ) -> None:
        """Write code that reads the rows of a run, after two rows of equal lengths.

        Args:
            cls: class of the rows.
            layout: its fields in this version.
            lengths: names of the lengths of the last row; all rows of the run have the same.
            loop: names of the count of rows left, the list, and its append.
        """
        left, items, add = loop
        out = self.source
        parts = tuple(_part(step.form, flexible=self._flexible) for step in layout.present)
        checks = [(out.fresh("c"), out.fresh("e")) for _ in lengths]
        if self._flexible:
            checks.append((out.fresh("c"), out.fresh("e")))
        picks = [out.fresh("at") for _ in layout.present]
        plan, each, size, before, one = (out.fresh(s) for s in ("plan", "it", "size", "n", "r"))
        plans = out.constant(_plans(parts, tags=self._flexible), "plans")
        out.line(f"{plan} = {plans}(({''.join(f'{length}, ' for length in lengths)}))")
        with out.block(f"if {plan} is None:"):
            out.line("continue")
        names = [each, size, *(name for pair in checks for name in pair), *picks]
        out.line(f"{', '.join(names)} = {plan}")
        out.line(f"{before} = len({items})")
        with out.block(
            f"for {one} in {each}(view[p : p + min({left}, (end - p) // {size}) * {size}]):"
        ):
            if checks:
                differs = " or ".join(f"{one}[{place}] != {value}" for place, value in checks)
                with out.block(f"if {differs}:"):
                    out.line("break")
            sizes = iter(lengths)
            values = {
                step.name: self._picked(step, f"{one}[{pick}]", sizes)
                for step, pick in zip(layout.present, picks, strict=True)
            }
            for step in layout.tagged + layout.absent:
                values[step.name] = out.constant(step.default)
            out.line(f"{add}({self._build(cls, values)})")
        out.line(f"{before} = len({items}) - {before}")
        out.line(f"{left} -= {before}")
        out.line(f"p += {size} * {before}")

    def _picked(self, step: Step, value: str, lengths: Iterator[str]) -> str:
        if isinstance(step.form, ScalarForm):
            return value
        length = next(lengths)
        if isinstance(step.form, TextForm):
            lossy = '"utf-8", "replace"' if step.form.lossy else ""
            value = f"{value}.decode({lossy})"
        return f"None if {length} < 0 else {value}" if step.nullable else value

    def _flush(self) -> None:
        """Write the one `struct` call that reads the fixed fields gathered so far."""
        if not self._fixed:
            return
        layout = ">" + "".join(code for code, _, _ in self._fixed)
        names = ", ".join(name for _, _, name in self._fixed)
        size = sum(size for _, size, _ in self._fixed)
        read = self.source.constant(_reader(layout), "read")
        self.source.line(f"{names}, = {read}(d, p)")
        self.source.line(f"p += {size}")
        self._fixed.clear()


def _where(cls: type[Declared], step: Step) -> str:
    return f"{cls.__name__}.{step.name}"


def _fits_a_run(layout: Layout) -> bool:
    """Tell whether rows consist of scalars, texts, bytes and arrays of scalars only."""
    for step in layout.present:
        form = step.form
        if isinstance(form, ArrayForm) and isinstance(form.item, ScalarForm):
            continue
        if isinstance(form, RowForm | ArrayForm) or (isinstance(form, BlobForm) and form.view):
            return False
    return True


def _part(form: Form, *, flexible: bool) -> RunPart:
    if isinstance(form, ScalarForm):
        return RunPart(form.format, form.size, "")
    if isinstance(form, ArrayForm):
        assert isinstance(form.item, ScalarForm)
        return RunPart(form.item.format, form.item.size, "u" if flexible else "i")
    prefix = "h" if isinstance(form, TextForm) else "i"
    return RunPart("s", 1, "u" if flexible else prefix)


def _plans(parts: tuple[RunPart, ...], *, tags: bool) -> Callable[[tuple[int, ...]], Any]:
    """Return the cached planner of one kind of row; the cache is bounded, lengths are a peer's."""

    @functools.lru_cache(maxsize=_PLANS_KEPT)
    def plan(lengths: tuple[int, ...]) -> tuple[Any, ...] | None:
        return primitives.plan_run(parts, lengths, tags=tags)

    return plan


@functools.cache
def _reader(layout: str) -> Callable[..., tuple[Any, ...]]:
    return struct.Struct(layout).unpack_from


@functools.cache
def _unpackers(code: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    return primitives.unpackers(code)


@functools.cache
def _draft_of(cls: type[Any]) -> type[Any]:
    """Return the mutable twin of a class: equal slots, so that its objects can become the class's.

    Filling a draft and assigning `__class__` takes 0.13 us; three `object.__setattr__` take 0.25.
    """
    body = {"__slots__": cls.__slots__, "__init__": object.__init__}
    return type(f"{cls.__name__}Draft", cls.__bases__, body)
