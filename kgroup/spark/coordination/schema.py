"""What a table is, and how Spark and Arrow are told of its columns.

Decides: the types a column can have, and what each is called elsewhere.
Never: knows a table; `declared` has them.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeAlias

from kgroup.words import Word

Row: TypeAlias = dict[str, Any]
"""Column -> value; a column that is missing is null."""

TAG: Final = "table"
"""The column that says which of several tables a row belongs to."""
PLAIN: Final = "plain"
"""The column of a record's one row, in the table that nearly all records have theirs in."""
REST: Final = "rest"
"""The column of the rows of a record that has no such row."""


class Kind(Word):
    """The type of a column; its value is Spark's name."""

    TEXT = "string"
    INT = "int"
    LONG = "bigint"
    REAL = "double"
    FLAG = "boolean"
    BYTES = "binary"
    TEXTS = "array<string>"
    PLACES = "array<struct<topic: string, partition: int>>"
    HEADERS = "array<struct<key: string, value: binary>>"


class Layer(Word):
    """What becomes of a table's rows."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    LIVE = "live"


class Column(NamedTuple):
    """One column.

    Args:
        name: its name.
        kind: its type.
        about: what it says.
    """

    name: str
    kind: Kind
    about: str


class Table(NamedTuple):
    """One table.

    Args:
        name: its name.
        layer: whether it grows, or is made anew.
        about: what a row is.
        columns: in order.
    """

    name: str
    layer: Layer
    about: str
    columns: tuple[Column, ...]


# -- as others are told ----------------------------------------------------------------------------


def ddl(table: Table) -> str:
    """Return the columns for Spark."""
    return ", ".join(f"`{name}` {kind.value}" for name, kind, _ in table.columns)


def arrow_schema(table: Table) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the columns for Arrow."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    return pa.schema([(name, _arrow(kind)) for name, kind, _ in table.columns])


def tagged_schema(tables: Iterable[Table]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return the columns of rows of several tables for Arrow: one's name, a struct for each."""
    import pyarrow as pa  # noqa: PLC0415 - optional

    structs = [
        (table.name, pa.struct([(name, _arrow(kind)) for name, kind, _ in table.columns]))
        for table in tables
    ]
    return pa.schema([(TAG, pa.string()), *structs])


def decoded_schema(plain: Table, tables: Iterable[Table]) -> Any:  # noqa: ANN401 - pyarrow's
    """Return what each record says, for Arrow: the row of one table, else rows of several.

    Args:
        plain: that table.
        tables: the several; it may be among them.
    """
    import pyarrow as pa  # noqa: PLC0415 - optional

    several = pa.list_(pa.struct(tagged_schema(tables)))
    return pa.schema([(PLAIN, pa.struct(arrow_schema(plain))), (REST, several)])


def _arrow(kind: Kind) -> Any:  # noqa: ANN401 - pyarrow's
    import pyarrow as pa  # noqa: PLC0415 - optional

    match kind:
        case Kind.TEXT:
            return pa.string()
        case Kind.INT:
            return pa.int32()
        case Kind.LONG:
            return pa.int64()
        case Kind.REAL:
            return pa.float64()
        case Kind.FLAG:
            return pa.bool_()
        case Kind.BYTES:
            return pa.binary()
        case Kind.TEXTS:
            return pa.list_(pa.string())
        case Kind.PLACES:
            return pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))
        case Kind.HEADERS:
            return pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def tagged(table: Table, row: Row) -> Row:
    """Return a row of a table as one of several tables."""
    return {TAG: table.name, table.name: row}
