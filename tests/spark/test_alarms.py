"""Live alarms: a streaming query over tables that grow, and goes on where it ended."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination.alarms import Alarms
from kgroup.spark.coordination.beating import MISSING, ZOMBIE, Limits
from kgroup.spark.coordination.schema import Row, Table
from kgroup.spark.coordination.store import Store
from kgroup.spark.coordination.tables import arrow_of
from kgroup.spark.coordination.watching import STUCK
from tests.spark.claims import Claims
from tests.spark.coordinator import T0

pytestmark = pytest.mark.spark

LIMITS = Limits(stuck=20_000)


def laid(store: Store, batches: Iterable[int]) -> None:
    """Write batches as a job does: a member falls silent, is replaced and comes back; lag stands.

    Of each key: a claim at second 0, another's at second 10, a heartbeat of the first at second 20.
    """
    log = Claims()
    first = log.claim(0, "web/1")
    second = log.claim(10, "job/1")
    log.beat(20, "web/1", first)
    log.beat(21, "job/1", second)
    for batch in batches:
        ts = T0 + batch * 10_000
        here = [each._asdict() for each in log.records if ts <= each.append_ts < ts + 10_000]
        _append(store, d.RAW, here, batch)
        if batch == 0:
            place = {"log_partition": 3, "log_offset": 9, "append_ts": T0}
            said = {"group": "g", "topic": "orders", "partition": 1, "offset": 5}
            _append(store, d.COMMIT_LOG, [{**said, **place, "tombstone": False}], batch)
        looks = {"__marshal": (0, 9), "orders": (1, 8 + batch)}
        rows = [
            {"topic": topic, "partition": number, "ts": ts + 9_000, "low": 0, "high": high}
            for topic, (number, high) in looks.items()
        ]
        _append(store, d.LOOKS, rows, batch)


def _append(store: Store, table: Table, rows: list[Row], batch: int) -> None:
    if rows:
        store.append(table, arrow_of(table, rows), batch)


def looked(spark: Any, store: Store) -> list[str]:
    """Look at what is there now; return the lines that were said."""
    said: list[str] = []
    query = Alarms(spark, store, said.append, LIMITS).start(once=True)
    assert query.awaitTermination(120)
    assert query.exception() is None
    return said


def alarms(store: Store) -> list[tuple[object, ...]]:
    path = store.folder / d.ALARM.name
    rows = dataset.dataset(path, format="parquet", partitioning="hive").to_table().to_pylist()
    names = ("ts", "kind", "group", "topic", "partition", "client", "lag")
    return sorted(tuple(row[name] for name in names) for row in rows)


def test_a_restart_tells_what_one_run_tells(spark: Any, tmp_path: Path) -> None:
    whole, parts = Store(spark, tmp_path / "whole"), Store(spark, tmp_path / "parts")
    laid(whole, range(5))
    assert len(looked(spark, whole)) == 5
    assert alarms(whole) == [
        (T0 + 3_000, MISSING, "g", "t", 0, "web", None),
        (T0 + 13_000, MISSING, "g", "t", 0, "job", None),
        (T0 + 20_000, ZOMBIE, "g", "t", 0, "web", None),
        (T0 + 24_000, MISSING, "g", "t", 0, "job", None),
        (T0 + 29_000, STUCK, "g", "orders", 1, None, 6),
    ]
    laid(parts, [0, 1])
    assert len(looked(spark, parts)) == 1
    laid(parts, [2, 3, 4])
    assert len(looked(spark, parts)) == 4
    assert alarms(parts) == alarms(whole)
