"""A table as Spark reads it: the rows of a topic, and where each of them is from.

Decides: what is a path and what a name, which columns can hold a place, and how errors of Spark
come out: what was asked wrongly as an argument, all else as one line.
Never: runs a job.

Objects of pyspark are not typed here: the library is optional.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kgroup.errors import ArgumentError, KGroupError, MissingExtraError
from kgroup.values import dataclass

_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "spark.app.name": "kgroup spark verify",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
    }
)
"""Of a session that is made here; options of the caller go before them."""

_WHOLE: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_TRACEBACK: Final = "Traceback (most recent call last):"
_READ: Final = "string"
"""A type that is read as numbers; what is none counts as null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, and where it says from where its rows are.

    Args:
        name: a path, or the name of a table.
        form: format of what lies at the path; None for a table by name, or Parquet if a path.
        columns: those of topic, partition and offset; without the first all rows are of one topic.
        topic: whose rows are looked at.
    """

    name: str
    form: str | None = None
    columns: tuple[str, ...] = ("topic", "partition", "offset")
    topic: str


class TableError(KGroupError):
    """Spark could not start, or could not read a table to its end; it says why."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a topic, as columns `p` and `o`.

    Args:
        all: null where a row has no place; rows without a topic are among them.
        placed: only rows of the topic, their columns as they are stored, so that Spark can leave
            out what a condition excludes.
    """

    all: Any
    placed: Any


def functions() -> Any:  # noqa: ANN401 - pyspark's functions
    """Return the functions of Spark SQL.

    Raises:
        MissingExtraError: pyspark is not installed.
    """
    try:
        from pyspark.sql import functions  # noqa: PLC0415 - optional, and slow to load
    except ImportError as error:
        raise MissingExtraError("kgroup spark", "spark") from error
    return functions


def arrow_function(work: Callable[..., Any], form: Any, *, by_group: bool = False) -> Any:  # noqa: ANN401
    """Return a function of columns that works on Arrow, and needs no pandas.

    Args:
        work: takes batches and returns an iterator, or takes the columns of a group.
        form: of what it returns, as Spark's DDL has it, or its type.
        by_group: whether it returns one value for a group.

    Raises:
        MissingExtraError: pyspark is not installed.
    """
    made = functions().arrow_udf
    from pyspark.util import PythonEvalType  # noqa: PLC0415 - see `functions`

    one, many = PythonEvalType.SQL_GROUPED_AGG_ARROW_UDF, PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF
    with warnings.catch_warnings():
        # Spark would rather have hints with the types of Arrow, which is not loaded here.
        warnings.simplefilter("ignore", UserWarning)
        return made(work, form, one if by_group else many)


def open_session(settings: Mapping[str, str]) -> tuple[Any, bool]:
    """Return the session of Spark, and whether it was made here.

    Args:
        settings: Spark's own, by name; they change nothing about a session that is there already.

    Raises:
        MissingExtraError: pyspark is not installed.
    """
    functions()
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see `functions`

    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    builder = SparkSession.builder
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # Spark looks for sources in folders of packages only: not in a checkout that is installed.
    spark.dataSource.register(import_module("pyspark_kgroup").DefaultSource)
    return spark, True


# -- the table -------------------------------------------------------------------------------------


def rows_of(spark: Any, table: Table) -> Rows:  # noqa: ANN401 - pyspark's session
    """Return the rows of a topic.

    Raises:
        ArgumentError: the table or a column is not there, or a column holds no whole numbers.
    """
    f = functions()
    frame = _read(spark, table)
    types = {name: _type(frame, name) for name in table.columns}
    *topics, partition, offset = table.columns
    columns = [_number(f, name, types[name]) for name in (partition, offset)]
    placed, nowhere = frame, []
    if topics:
        topic = f.col(topics[0]).cast("string")
        frame = frame.where((topic == table.topic) | topic.isNull())
        placed = placed.where(topic == table.topic)
        nowhere = [topic.isNotNull()]
    marked = [f.when(condition, each) for each in columns for condition in nowhere] or columns
    return Rows(_named(frame, marked), _named(placed, columns))


def _named(frame: Any, columns: Sequence[Any]) -> Any:  # noqa: ANN401 - pyspark's
    partition, offset = columns
    return frame.select(partition.alias("p"), offset.alias("o"))


def _read(spark: Any, table: Table) -> Any:  # noqa: ANN401 - pyspark's
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - see `functions`

    is_path = table.form is not None or "/" in table.name or Path(table.name).exists()
    try:
        if is_path:
            frame = spark.read.format(table.form or "parquet").load(table.name)
        else:
            frame = spark.read.table(table.name)
        _ = frame.schema  # what is not there is noticed now, not when the first job runs
        return frame
    except AnalysisException as error:
        what = "a folder or file that Spark reads" if is_path else "the name of a table, or a path"
        raise ArgumentError("table", table.name, f"{what} ({_line(str(error))})") from None


def _type(frame: Any, name: str) -> str:  # noqa: ANN401 - pyspark's
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - see `functions`

    try:
        return str(frame.select(name).schema.fields[0].dataType.simpleString())
    except AnalysisException:
        expected = f"three columns of {', '.join(frame.columns)}, or two: partition and offset"
        raise ArgumentError("columns", name, expected) from None


def _number(f: Any, name: str, kind: str) -> Any:  # noqa: ANN401 - pyspark's
    if kind in _WHOLE:
        return f.col(name).cast("bigint")
    if kind == _READ:
        return f.col(name).try_cast("bigint")
    raise ArgumentError("columns", name, f"a column of whole numbers; it is one of {kind}")


def _line(text: str) -> str:
    """Return the first line of an error; of one in Python code on a worker, what that raised."""
    _, found, after = text.rpartition(_TRACEBACK)
    raised = (line for line in after.splitlines() if line.strip() and not line[0].isspace())
    return next(raised, "an error in Python code") if found else text.strip().splitlines()[0]


@contextmanager
def told_plainly() -> Iterator[None]:
    """Have what Spark raises in a block come out as one line.

    Raises:
        TableError: in its place.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - see `functions`
    from pyspark.errors import PySparkException  # noqa: PLC0415 - see `functions`

    try:
        yield
    except (PySparkException, Py4JError) as error:
        cause = getattr(error, "java_exception", None)
        text = _line(str(error) if cause is None else str(cause.toString()))
        raise TableError(f"Spark failed: {text}") from error
