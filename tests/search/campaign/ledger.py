"""What all sittings of the campaigns have done together.

Decides: where the next sitting begins: behind the last seed, or input, of its kind; the form of
`benchmarks/results/campaign.json`: each sitting has the cells it met, and sums are made of these,
so that one that is written down again, or done by two people at once, counts once.
Never: forgets a sitting, or what it found. What an older sitting found may be mended since; its
commit stands beside it.

`cells` of the document is what sittings met that have no cells of their own: at least so often.
"""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["LEDGER", "Ledger", "Sitting"]

LEDGER: Final = Path(__file__).parents[3] / "benchmarks" / "results" / "campaign.json"

Sitting = dict[str, Any]
"""What one sitting has done: what it is of (`kind`), `first`, `count`, and more of its own.

Groups have `cells`: how often each cell of the table of states was met, by name."""


class Ledger:
    """The file of sittings.

    Args:
        path: of the file; it need not be there yet.
    """

    def __init__(self, path: Path = LEDGER) -> None:
        self._path = path

    def sittings(self, kind: str | None = None) -> list[Sitting]:
        """Return the sittings of one kind, or all, in order."""
        sittings: list[Sitting] = self._read()["sittings"]
        return [each for each in sittings if kind in (None, each["kind"])]

    def cells(self, level: str) -> Mapping[str, int]:
        """Return how often each cell of the table of states was met at a level."""
        document = self._read()
        cells = Counter(document["cells"].get(level, {}))
        for row in document["sittings"]:
            if row["kind"].split(maxsplit=1)[0] == level:
                cells.update(row.get("cells", {}))
        return cells

    def next_of(self, kind: str) -> int:
        """Return the first seed, or input, that no sitting of a kind has done."""
        return max((each["first"] + each["count"] for each in self.sittings(kind)), default=0)

    def put(self, sitting: Sitting) -> None:
        """Write a sitting down, in the place of what was written of it before.

        Args:
            sitting: what it has done so far; two are the same if `kind` and `first` are.
        """
        with self._locked():
            document = self._read()
            rows = document["sittings"]
            same = [_name(row) == _name(sitting) for row in rows]
            at = same.index(True) if any(same) else len(rows)
            rows[at : at + 1] = [sitting]
            self._write(document)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other sittings, of other kinds, from writing at the same time."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> dict[str, Any]:
        if not self._path.exists():
            return {"sittings": [], "cells": {}}
        document: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        return document

    def _write(self, document: dict[str, Any]) -> None:
        # Whole or not at all: a sitting may be ended while it writes.
        fresh = self._path.with_suffix(".new")
        fresh.write_text(f"{json.dumps(document, indent=1)}\n", encoding="utf-8")
        fresh.replace(self._path)


def _name(sitting: Sitting) -> tuple[str, int]:
    return sitting["kind"], sitting["first"]
