"""Gold beside the batches: what is made anew while others go on."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination import tables as t
from kgroup.spark.coordination.gilding import Gilding
from kgroup.spark.coordination.job import Job
from kgroup.spark.coordination.kept import Kept
from kgroup.spark.coordination.schema import arrow_schema
from kgroup.spark.coordination.silver import OFFSETS_TOPIC
from kgroup.spark.coordination.store import Store, write_file
from tests.spark.coordinator import recorded
from tests.spark.ground import wait

pytestmark = pytest.mark.spark


@pytest.fixture
def store(spark: Any, tmp_path: Path) -> Store:
    """Tables of one batch, with all their gold."""
    rows = [each._asdict() for each in recorded()]
    write_file(t.arrow_of(d.RAW, rows), tmp_path / "kept" / "raw")
    store = Store(spark, tmp_path / "out")
    Job(spark, store, lambda _: None).copy(tmp_path / "kept")
    return store


def parts() -> tuple[str, ...]:
    found = {each.log_partition for each in recorded() if each.src == OFFSETS_TOPIC}
    return tuple(sorted(f"offsets-{number}" for number in found))


def gold(store: Store) -> Iterator[tuple[str, list[str]]]:
    for table in d.GOLD:
        yield table.name, sorted(map(repr, Kept(store.folder).rows(table)))


def spoiled(store: Store) -> None:
    """Make all gold empty."""
    for path in store.folder.glob("*/part=*"):
        write_file(arrow_schema(d.TABLES[path.parent.name]).empty_table(), path)


def test_gold_that_is_settled_is_that_of_one_batch(store: Store) -> None:
    right = list(gold(store))
    spoiled(store)
    assert list(gold(store)) != right
    gilding = Gilding(store, lambda: 0.0, 30.0)
    assert gilding.go_on(parts(), 0, {}) == parts()
    gilding.settle(parts(), 0, {})
    assert list(gold(store)) == right


def test_a_log_partition_that_changes_while_its_gold_is_made_stays_stale(store: Store) -> None:
    one = parts()[:1]
    gilding = Gilding(store, lambda: 0.0, 30.0)
    gilding.go_on(parts(), 0, {})
    gilding.changed(one)
    wait(lambda: gilding.go_on(parts(), 0, {}) == one, "the gold of the others is made")


def test_gold_that_could_not_be_made_is_told_and_stays_to_be_made(store: Store) -> None:
    right, path = list(gold(store)), store.folder / d.STATUS.name
    shutil.rmtree(path)
    path.write_text("in the way")
    gilding = Gilding(store, lambda: 0.0, 30.0)
    gilding.go_on(parts(), 0, {})

    def failed() -> bool:
        try:
            return gilding.go_on(parts(), 0, {}) != parts()
        except OSError:
            return True

    wait(failed, "the error comes to light")
    path.unlink()
    gilding.settle(parts(), 0, {})
    assert list(gold(store)) == right


def test_gold_that_is_not_due_is_not_made(store: Store) -> None:
    now = [0.0]
    gilding = Gilding(store, lambda: now[0], 30.0)
    gilding.go_on(parts(), 0, {})
    wait(lambda: gilding.go_on(parts(), 0, {}) == (), "all gold is made")
    now[0] = 29.0
    gilding.go_on(parts(), 0, {})
    gilding.changed(parts()[:1])  # it would stay stale if its gold were being made
    now[0] = 30.0
    wait(lambda: gilding.go_on(parts(), 0, {}) == (), "all gold is made again")
