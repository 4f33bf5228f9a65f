"""The folder the tables lie in, and how far they are.

Decides: that a batch is planned before anything of it is written, and that what it writes it
writes over: a batch that was killed is made again, record by record the same. Readers see batches
that are done. A table is a folder of Parquet: of what grows a part for each batch, of gold one for
each log partition, made anew as a whole.
Never: decides what is in a batch.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from kgroup.errors import ConfigError
from kgroup.spark.coordination.schema import Layer, Row, Table, arrow_schema, ddl
from kgroup.spark.coordination.tables import Frame, empty
from kgroup.spark.table import functions
from kgroup.values import dataclass

VERSION: Final = 1
"""Of the tables; a folder of a newer one is left alone."""

_STATE: Final = "_kgroup"
_PROGRESS: Final = "progress.json"
_PLAN: Final = "plan.json"

Places: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Topic -> number of a partition, as text -> what is kept of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the tables are.

    Args:
        batch: the last that is done, -1 before the first.
        ends: log partition -> next offset to read.
        stale: log partitions of which gold is not made yet.
        source: where records come from: `brokers`, or a folder.
    """

    batch: int = -1
    ends: Places = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    source: str = "brokers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a batch reads.

    Args:
        batch: its number.
        ranges: log partition -> first offset, and the one behind the last.
        history: rows of that table.
        more: whether there is more to read than one batch takes.
    """

    batch: int
    ranges: Places = field(default_factory=dict)
    history: tuple[Row, ...] = ()
    more: bool = False


class Store:
    """A folder of tables.

    Args:
        spark: the session.
        folder: of this machine; made when it is written to.
    """

    def __init__(self, spark: Any, folder: Path) -> None:  # noqa: ANN401 - pyspark's session
        self._spark = spark
        self.folder = folder

    # -- how far -----------------------------------------------------------------------------

    def progress(self) -> Progress:
        """Return how far the tables are.

        Raises:
            ConfigError: a newer version wrote them, or the file that says it is damaged.
        """
        found = self._state(_PROGRESS)
        return Progress() if found is None else Progress(**found)

    def plan(self) -> Plan | None:
        """Return the batch that was planned last, None without one.

        Raises:
            ConfigError: see `progress`.
        """
        found = self._state(_PLAN)
        return None if found is None else Plan(**found)

    def put(self, state: Progress | Plan) -> None:
        """Keep how far the tables are, or what is to be read."""
        name = _PROGRESS if isinstance(state, Progress) else _PLAN
        folder = self.folder / _STATE
        folder.mkdir(parents=True, exist_ok=True)
        new = folder / f"{name}.new"
        with new.open("w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **asdict(state)}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(folder / name)

    def _state(self, name: str) -> dict[str, Any] | None:
        path = self.folder / _STATE / name
        if not path.exists():
            return None
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = int(found.pop("version"))
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            expected = f"a folder whose {path.name} can be read ({error!r}); or an empty one"
            raise ConfigError("out", str(self.folder), expected) from None
        if version > VERSION:
            expected = f"tables of version {VERSION}, not of {version}: a newer kgroup wrote them"
            raise ConfigError("out", str(self.folder), expected)
        return {key: tuple(each) if isinstance(each, list) else each for key, each in found.items()}

    # -- tables ------------------------------------------------------------------------------

    def read(self, table: Table, upto: int) -> Frame:
        """Return a table as it is after a batch.

        Args:
            table: which.
            upto: number of the batch; later ones may be half written.
        """
        path = self.folder / table.name
        if not path.exists():
            return empty(self._spark, table)
        # A column that an older version did not have is null.
        split = "part string" if table.layer is Layer.GOLD else "batch int"
        rows = self._spark.read.schema(f"{ddl(table)}, {split}").parquet(str(path))
        if table.layer is not Layer.GOLD:
            rows = rows.where(f"coalesce(batch, 0) <= {upto}")
        return rows.select(*(f"`{name}`" for name, _, _ in table.columns))

    def read_batch(self, table: Table, batch: int) -> Frame:
        """Return what a batch wrote to a table; it wrote something."""
        path = self.folder / table.name / f"batch={batch}"
        return self._spark.read.schema(ddl(table)).parquet(str(path))

    def arrow_batch(self, table: Table, batch: int) -> Any:  # noqa: ANN401 - pyarrow's
        """Return the same in Arrow, read by this process."""
        from pyarrow import dataset  # noqa: PLC0415 - optional

        path = self.folder / table.name / f"batch={batch}"
        return dataset.dataset(path, arrow_schema(table), format="parquet").to_table()

    def append(self, table: Table, rows: Frame, batch: int) -> None:
        """Write what a batch has of a table, over what it wrote before; a data frame or Arrow."""
        path = self.folder / table.name / f"batch={batch}"
        if hasattr(rows, "write"):
            rows.write.mode("overwrite").parquet(str(path))
        else:
            write_file(rows, path)

    def replace(self, table: Table, rows: Frame, kind: str) -> None:
        """Write gold anew for the log partitions that rows are of; others stay as they are.

        Args:
            table: which.
            rows: a data frame, or Arrow.
            kind: of the log, before the number of a log partition.
        """
        if hasattr(rows, "write"):
            f = functions()
            name = f.concat(f.lit(f"{kind}-"), f.col("log_partition"))
            (
                rows.withColumn("part", name)
                .repartition(1, "part")
                .write.mode("overwrite")
                .option("partitionOverwriteMode", "dynamic")
                .partitionBy("part")
                .parquet(str(self.folder / table.name))
            )
            return
        from pyarrow import compute  # noqa: PLC0415 - optional

        numbers = rows.column("log_partition")
        for number in compute.unique(numbers).to_pylist():
            path = self.folder / table.name / f"part={kind}-{number}"
            write_file(rows.filter(compute.equal(numbers, number)), path)


def write_file(rows: Any, path: Path) -> None:  # noqa: ANN401 - pyarrow's
    """Write Arrow as the one file of a folder, in the place of what is there.

    It takes the place of the one before when it is whole: others may be reading the folder.
    """
    from pyarrow import parquet  # noqa: PLC0415 - optional

    path.mkdir(parents=True, exist_ok=True)
    new, whole = path / ".part-0.parquet.new", path / "part-0.parquet"
    parquet.write_table(rows, new)
    new.replace(whole)
    for other in path.iterdir():
        if other != whole:
            other.unlink()
