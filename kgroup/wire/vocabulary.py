"""The words schemas are written in: aiokafka's protocol types, and kgroup's own beside them.

Decides: which types a field of a message can have, and which form each takes on the wire. This
is the only module that uses them (`kgroup.wire.borrowed` loads them); they carry no static types,
so they are re-exported here under `WireType[T]`, and mypy checks each field against its type.
Never: reads or writes a byte; `kgroup.wire.compile` makes functions out of the forms.

Compact forms (KIP-482) need no words: a version at or above the first flexible one uses them.
What aiokafka lacks or gets wrong is defined here: uuid (KIP-516), record data, text for people,
rows that are classes, and nullability that begins with a version.
"""

from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from kgroup.wire.borrowed import types

T = TypeVar("T")

ZERO_UUID: Final = bytes(16)
"""The uuid that means "no uuid" on the wire (KIP-516)."""


class WireType(Generic[T]):
    """The type of a field on the wire; `T` is the type of its value in Python."""

    __slots__ = ()


class _Named(WireType[T]):
    """A type that is nothing but its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class _Row(WireType[T]):
    """One row of a message class, written field by field."""

    __slots__ = ("cls",)

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls


class _RowArray(WireType[T]):
    """Any number of rows of one message class."""

    __slots__ = ("cls",)

    def __init__(self, cls: type[Any]) -> None:
        self.cls = cls


class _Nullable(WireType[T]):
    """A type whose value may be absent from some version on."""

    __slots__ = ("since", "type")

    def __init__(self, wire_type: WireType[Any], since: int) -> None:
        self.type = wire_type
        self.since = since


Int8: Final[WireType[int]] = types.Int8
Int16: Final[WireType[int]] = types.Int16
Int32: Final[WireType[int]] = types.Int32
Int64: Final[WireType[int]] = types.Int64
Boolean: Final[WireType[bool]] = types.Boolean
String: Final[WireType[str]] = types.String("utf-8")
"""Names and ids: bytes that are not UTF-8 are an error."""
Bytes: Final[WireType[bytes]] = types.Bytes

Text: Final[WireType[str]] = _Named("text")
"""Words for people, such as an error message: bytes that are not UTF-8 are replaced."""
Uuid: Final[WireType[bytes]] = _Named("uuid")
"""16 bytes, `ZERO_UUID` for none (KIP-516)."""
Records: Final[WireType[memoryview | bytes]] = _Named("records")
"""Record batches of one partition; decoded to a view into the frame, not a copy."""


def array(of: WireType[T]) -> WireType[tuple[T, ...]]:
    """Return the type of an array of scalars or strings (rows have `rows`)."""
    typed: WireType[tuple[T, ...]] = types.Array(of)
    return typed


def rows(cls: type[T]) -> WireType[tuple[T, ...]]:
    """Return the type of an array whose items are rows of a message class."""
    return _RowArray(cls)


def row(cls: type[T]) -> WireType[T]:
    """Return the type of one row of a message class."""
    return _Row(cls)


def nullable(wire_type: WireType[T]) -> WireType[T | None]:
    """Return the type that also allows None, in every version that has the field."""
    return _Nullable(wire_type, 0)


def nullable_from(since: int, wire_type: WireType[T]) -> WireType[T | None]:
    """Return the type that also allows None, from version `since` on."""
    return _Nullable(wire_type, since)


class ScalarForm(NamedTuple):
    """A fixed number of bytes: a `struct` format character or string, and its size."""

    format: str
    size: int


class TextForm(NamedTuple):
    """A length and UTF-8; `lossy` replaces what is not UTF-8."""

    lossy: bool


class BlobForm(NamedTuple):
    """An int32 length and bytes; a `view` is not copied out of the frame."""

    view: bool


class RowForm(NamedTuple):
    """The fields of a message class."""

    cls: type[Any]


class ArrayForm(NamedTuple):
    """A count and that many items."""

    item: "ScalarForm | TextForm | RowForm"


Form: TypeAlias = ScalarForm | TextForm | BlobForm | RowForm | ArrayForm

_SIMPLE: Final[dict[Any, ScalarForm | TextForm | BlobForm]] = {
    Int8: ScalarForm("b", 1),
    Int16: ScalarForm("h", 2),
    Int32: ScalarForm("i", 4),
    Int64: ScalarForm("q", 8),
    Boolean: ScalarForm("?", 1),
    Uuid: ScalarForm("16s", 16),
    String: TextForm(lossy=False),
    Text: TextForm(lossy=True),
    Bytes: BlobForm(view=False),
    Records: BlobForm(view=True),
}


def form_of(wire_type: WireType[Any]) -> tuple[Form, int | None]:
    """Return how a type is written, and the first version in which it may be null (else None)."""
    since = None
    if isinstance(wire_type, _Nullable):
        since = wire_type.since
        wire_type = wire_type.type
    if isinstance(wire_type, _Row):
        return RowForm(wire_type.cls), since
    if isinstance(wire_type, _RowArray):
        return ArrayForm(RowForm(wire_type.cls)), since
    if isinstance(wire_type, types.Array):
        item = _SIMPLE[wire_type.array_of]
        if isinstance(item, BlobForm):
            raise TypeError("an array of bytes has no form yet; declare rows")
        return ArrayForm(item), since
    return _SIMPLE[wire_type], since
