"""Python source under construction, and the layout of a message that it is written from.

Decides: how generated code is put together and turned into a function; what a declaration means
for a version: the fields on the wire in their order, the tagged ones (KIP-482), and those the
version lacks, which take their default when read.
Never: decides what the code does; `kgroup.wire.decoding` and `kgroup.wire.encoding` do.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from kgroup.wire.vocabulary import ArrayForm, BlobForm, Form, RowForm, WireType, form_of

_PLAIN: Final = (int, str, bytes, bool, type(None))


class Source:
    """The text of one function and the objects it refers to."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self._names: dict[str, Any] = {}
        self._known: dict[int, str] = {}

    def line(self, text: str) -> None:
        """Append a line at the present depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Append a line that opens a block; what follows inside the `with` is indented."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return a name that nothing else in this function has."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, value: object, stem: str = "const") -> str:
        """Return an expression for a value: its literal, or a name bound to it."""
        if isinstance(value, _PLAIN) or value == ():
            return repr(value)
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = self.fresh(stem)
            self._names[name] = value
        return name

    def bind(self, **names: object) -> None:
        """Make objects known to the code under given names."""
        self._names.update(names)

    def function(self, name: str, title: str) -> Callable[..., Any]:
        """Compile the text and return the function `name` that it defines."""
        code = compile("\n".join(self._lines), f"<kgroup.wire: {title}>", "exec")
        names = dict(self._names)
        exec(code, names)  # noqa: S102 - the text comes from declarations, never from bytes
        made: Callable[..., Any] = names[name]
        return made


REQUIRED: Final[Any] = object()
"""Stands for the default of a field that has none."""


class Field(NamedTuple):
    """One field as declared, over all versions.

    Args:
        type: its type on the wire.
        since: first version that has it.
        until: last version that has it; None = still there.
        default: what a reader of a version without it gets; `REQUIRED` = no default.
        ignorable: writing a version without it drops the value silently.
        tag: its number among the tagged fields; None = an ordinary field.
    """

    type: WireType[Any]
    since: int
    until: int | None
    default: Any
    ignorable: bool
    tag: int | None


class Declared(Protocol):
    """A message class as the compiler sees it."""

    FIELDS: ClassVar[Mapping[str, Field]]


class Step(NamedTuple):
    """One field in one version.

    Args:
        name: the attribute.
        form: how it is written.
        nullable: None may be written in this version.
        nullable_since: first version in which None may be written; None = never.
        default: see `Field`.
        ignorable: see `Field`.
        since: first version that has it.
        until: last version that has it; None = still there.
        tag: see `Field`.
    """

    name: str
    form: Form
    nullable: bool
    nullable_since: int | None
    default: Any
    ignorable: bool
    since: int
    until: int | None
    tag: int | None


class Layout(NamedTuple):
    """The fields of a class in one version.

    Args:
        present: ordinary fields in the order of the wire.
        tagged: tagged fields, tags rising.
        absent: fields this version lacks.
    """

    present: tuple[Step, ...]
    tagged: tuple[Step, ...]
    absent: tuple[Step, ...]


def layout_of(cls: type[Declared], version: int) -> Layout:
    """Sort the fields of a class by what becomes of them in a version.

    Raises:
        TypeError: a field that this version lacks was declared without a default.
    """
    present: list[Step] = []
    tagged: list[Step] = []
    absent: list[Step] = []
    for name, field in cls.FIELDS.items():
        form, since = form_of(field.type)
        nullable = since is not None and version >= since
        _, first, last, default, ignorable, tag = field
        step = Step(name, form, nullable, since, default, ignorable, first, last, tag)
        if version < first or (last is not None and version > last):
            if default is REQUIRED:
                raise TypeError(f"{cls.__name__}.{name} needs a default: v{version} lacks it")
            absent.append(step)
        elif tag is None:
            present.append(step)
        else:
            tagged.append(step)
    tagged.sort(key=lambda step: step.tag or 0)
    return Layout(tuple(present), tuple(tagged), tuple(absent))


def has_views(cls: type[Declared]) -> bool:
    """Tell whether a class, or a row anywhere inside it, holds record data."""
    for field in cls.FIELDS.values():
        form, _ = form_of(field.type)
        inner = form.item if isinstance(form, ArrayForm) else form
        if isinstance(inner, BlobForm) and inner.view:
            return True
        if isinstance(inner, RowForm) and has_views(inner.cls):
            return True
    return False
