"""Tables of a folder without a Spark: the rows of one group, and how many there are.

Decides: that only batches that are done count; a table that is not there has no rows.
Never: reads a whole table into rows; the group is looked for by Parquet.
"""

from pathlib import Path
from typing import Any

from kgroup.errors import ConfigError, MissingExtraError
from kgroup.spark.coordination.declared import TABLES
from kgroup.spark.coordination.schema import Layer, Row, Table
from kgroup.spark.coordination.store import Store


class Kept:
    """The tables in a folder.

    Args:
        folder: `--out` of `kgroup spark coordination`.

    Raises:
        ConfigError: the tables are those of a newer version.
        MissingExtraError: pyarrow is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import pyarrow.dataset  # noqa: F401, PLC0415 - optional
        except ImportError as error:
            raise MissingExtraError("kgroup spark report", "spark") from error
        self._folder = folder
        self._upto = Store(None, folder).progress().batch

    def groups(self, table: Table) -> set[str]:
        """Return the groups that a table has rows of."""
        found = self._table(table, None, ["group"])
        return set() if found is None else set(found.column("group").unique().to_pylist())

    @property
    def batches(self) -> int:
        """How many batches are done."""
        return self._upto + 1

    def counts(self) -> dict[str, int]:
        """Return how many rows each table has that is there."""
        there = [table for name, table in TABLES.items() if (self._folder / name).is_dir()]
        return {table.name: self._count(table) for table in there}

    def _count(self, table: Table) -> int:
        whole, wanted = self._whole(table, None)
        return int(whole.count_rows(filter=wanted))

    def rows(self, table: Table, group: str | None = None) -> list[Row]:
        """Return the rows of a group, or of all."""
        found = self._table(table, group, [name for name, _, _ in table.columns])
        rows: list[Row] = [] if found is None else found.to_pylist()
        return rows

    def _table(self, table: Table, group: str | None, names: list[str]) -> Any:  # noqa: ANN401
        if not (self._folder / table.name).is_dir():
            return None
        whole, wanted = self._whole(table, group)
        there = [name for name in names if name in whole.schema.names]
        return whole.to_table(columns=there, filter=wanted)

    def _whole(self, table: Table, group: str | None) -> tuple[Any, Any]:
        """Return what lies in the folder of a table, and the condition of what counts of it."""
        from pyarrow import dataset  # noqa: PLC0415 - optional

        path = self._folder / table.name
        whole = dataset.dataset(path, format="parquet", partitioning="hive")
        wanted = None if group is None else dataset.field("group") == group
        if table.layer is not Layer.GOLD and "batch" in whole.schema.names:
            done = dataset.field("batch") <= self._upto
            wanted = done if wanted is None else wanted & done
        return whole, wanted


def problems_of(folder: Path, group: str) -> list[Row]:
    """Return what a fleet's verdict found of a group.

    Args:
        folder: `--out` of `kgroup spark audit`.
        group: its name.

    Raises:
        ConfigError: there is no such table.
    """
    from pyarrow import dataset  # noqa: PLC0415 - optional

    path = folder / "problems"
    if not path.is_dir():
        raise ConfigError("verdict", str(folder), "a folder that `kgroup spark audit` has made")
    found = dataset.dataset(path, format="parquet")
    rows: list[Row] = found.to_table(filter=dataset.field("group") == group).to_pylist()
    return rows
