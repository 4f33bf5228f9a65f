"""What `kgroup spark verify` takes for a large table that lacks some offsets and has some twice.

Decides: the table: rows as a consumer would have written them, in runs of each partition in turn.
Never: counts a run whose verdict is not the right one.
"""

import json
import subprocess
import sys
import time
from typing import Any, Final

from pyspark.sql import functions as f

from benchmarks.spark_source.session import Session, folder

_PARTITIONS: Final = 8
_RUN: Final = 500
_TWICE: Final = 5_000
_LOST: Final = (
    "(partition = 3 and offset between 1000 and 1999) or (partition = 5 and offset = 777)"
)
_LOST_COUNT: Final = 1_001


def verified(session: Session, rows: int) -> dict[str, Any]:
    """Write a table, verify it by the command, and measure that.

    Args:
        session: writes the table.
        rows: of the table, about; a multiple of 4,000.
    """
    with folder() as path:
        table, bounds = path / "table", path / "bounds.json"
        _write(session, str(table), rows)
        each = [0, rows // _PARTITIONS]
        logs = {"orders": {str(number): each for number in range(_PARTITIONS)}}
        bounds.write_text(json.dumps(logs), encoding="utf-8")
        command = [sys.executable, "-m", "kgroup.cli", "spark", "verify", str(table), "--json"]
        command += ["--topic", "orders", "--bounds", str(bounds)]
        began = time.monotonic()
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        seconds = time.monotonic() - began
    found = json.loads(run.stdout)["partitions"]
    lost, doubled = (sum(each[name] for each in found) for name in ("lost", "doubled"))
    right = run.returncode == 1 and (lost, doubled) == (_LOST_COUNT, _TWICE)
    return {"rows": rows, "seconds": round(seconds, 1), "right": right}


def _write(session: Session, path: str, rows: int) -> None:
    number = f.floor(f.col("id") / _RUN)
    place = f.floor(number / _PARTITIONS) * _RUN + f.col("id") % _RUN
    table = session.spark.range(0, rows, 1, 48).select(
        f.lit("orders").alias("topic"),
        (number % _PARTITIONS).cast("int").alias("partition"),
        place.cast("bigint").alias("offset"),
    )
    twice = session.spark.range(0, _TWICE).select(
        f.lit("orders"), f.lit(2), f.col("id").cast("bigint")
    )
    table.where(f"not ({_LOST})").union(twice).write.parquet(path)
