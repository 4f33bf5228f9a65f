"""The ledger: a line of JSON for each run, whether it went well or not."""

import json
import platform
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from tests.spark.matrix.program import ROOT

LEDGER: Final = ROOT / "benchmarks" / "results" / "spark_matrix.jsonl"

Line = dict[str, Any]


@cache
def code() -> str:
    """Return which kgroup this is: the id of its folder in the repository.

    It stays the same when only tests, pages or this ledger are committed.
    """
    folder = _git("rev-parse", "--short=12", "HEAD:kgroup") or "unknown"
    return folder + ("+" if _git("status", "--porcelain", "kgroup") else "")


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def stamp() -> Line:
    """Return what every line begins with."""
    names = ("kgroup", "pyspark", "pyarrow")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code(),
        "versions": {
            **{name: version(name) for name in names},
            "python": platform.python_version(),
        },
    }


def lines(path: Path) -> Iterator[Line]:
    """Yield what stands in a ledger."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def note(path: Path, line: Line) -> None:
    """Add a line; several tools may write to one ledger."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def passed(path: Path, of: str) -> set[str]:
    """Return the cells whose last run with some code was clean."""
    last = {line["cell"]: line["clean"] for line in lines(path) if line["code"] == of}
    return {cell for cell, clean in last.items() if clean}
