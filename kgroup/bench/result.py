"""The results as JSON: one schema, which any other tool may read or write.

Decides: the schema::

    {"schema": 1, "scenario": "consume", "complete": true, "rough": false, "seed": ...,
     "plan": {...}, "environment": {...}, "broker": "...", "commit": "...", "compiled": true,
     "versions": {package: version},
     "cells": [{"name", "job", "client", "level", "loop", "data", "value_bytes", "pure", "records",
                "size": [members, partitions] | null,
                "status": "measured" | "absent" | "failed" | "wrong", "reason",
                "figures": {figure: {"median", "low", "high"}}, "samples": [raw, ...]}]}

`result.schema.json` says the same to programs. A raw sample is the answers of a client's process
(`kgroup.bench.clients`), with the load when it was started, when that was, and the CPU of the whole
process; of a group: what `kgroup.bench.groups` found, times as an HdrHistogram.
Never: names the machine or one of its folders.
"""

import importlib.util
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from kgroup.bench.cells import Cell, Data, Plan, Size
from kgroup.bench.contest import Entry
from kgroup.bench.figures import each_run, summary
from kgroup.bench.machine import environment
from kgroup.bench.processes import ROOT
from kgroup.errors import ConfigError

SCHEMA: Final = 1
ENOUGH: Final = 5
"""Runs of each cell below which results are rough."""
_UNITS: Final = {"B": 1, "kB": 1000}
_NEEDED: Final = ("schema", "seed", "plan", "environment", "broker", "versions", "cells")


def build(
    plan: Plan,
    broker: str,
    entries: Sequence[Entry],
    *,
    scenario: str = "",
    complete: bool = True,
) -> dict[str, Any]:
    """Return the results.

    Args:
        plan: how much was measured.
        broker: version and kind.
        entries: what became of each cell.
        scenario: its name.
        complete: whether nobody interrupted it.
    """
    cells = [described(entry, plan) for entry in entries]
    answers = [sample["result"] for entry in entries for sample in entry.samples]
    versions: dict[str, str] = {}
    for answer in answers:
        versions |= answer.get("versions", {})
    ours = (answer["compiled"] for answer in answers if answer.get("compiled") is not None)
    return {
        "schema": SCHEMA,
        "scenario": scenario,
        "complete": complete,
        "rough": plan.runs < ENOUGH,
        "seed": plan.seed,
        "plan": asdict(plan),
        "environment": environment(*filter(_installed, ("anyio", "trio", "uvloop"))),
        "broker": broker,
        "commit": commit(),
        "compiled": any(ours),
        "versions": dict(sorted(versions.items())),
        "cells": cells,
    }


def described(entry: Entry, plan: Plan) -> dict[str, Any]:
    """Return what the results say of a cell."""
    told = {
        **entry.cell.described(),
        "records": entry.records,
        "status": entry.status,
        "reason": entry.reason,
        "figures": {},
        "samples": entry.samples,
    }
    return {**told, "figures": refigured(told, plan.members)}


def refigured(cell: Mapping[str, Any], members: int) -> dict[str, dict[str, float]]:
    """Work out the figures of a cell from its raw samples."""
    return summary(cell["job"], cell["samples"], _size(cell, members))


def series(cell: Mapping[str, Any], members: int) -> dict[str, list[float]]:
    """Return figure -> what it is in each run of a cell."""
    return each_run(cell["job"], cell["samples"], _size(cell, members))


def _size(cell: Mapping[str, Any], members: int) -> dict[str, int]:
    known = cell.get("value_bytes")
    if known is None:  # of a result that is older than this field
        number, unit, *_ = cell["data"].split()
        known = int(number) * _UNITS[unit]
    return {"value_bytes": known, "members": (cell.get("size") or [members])[0]}


def read(path: Path) -> dict[str, Any]:
    """Return results that were kept in a file.

    Raises:
        ConfigError: there is no such file, or it holds no results, or of a later schema.
    """
    expected = "a result of `kgroup bench run`"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError("result", str(path), f"{expected} ({reason})") from None
    missing = [key for key in _NEEDED if not isinstance(found, dict) or key not in found]
    if missing:
        raise ConfigError("result", str(path), f"{expected}, which has {', '.join(missing)}")
    if found["schema"] != SCHEMA:
        raise ConfigError("result", str(path), f"{expected} with schema {SCHEMA}")
    document: dict[str, Any] = found
    return document


def entries_of(document: Mapping[str, Any]) -> list[Entry]:
    """Return the cells of kept results with their samples, to go on measuring."""
    return [
        Entry(
            cell=_cell(each),
            status=each["status"],
            reason=each["reason"],
            samples=[*each["samples"]],
            records=each["records"],
        )
        for each in document["cells"]
    ]


def _cell(told: Mapping[str, Any]) -> Cell:
    data = Data(told["data"], told["value_bytes"])
    size = Size(*told["size"]) if told.get("size") else None
    words = (told["job"], told["client"], told["level"], told["loop"])
    return Cell(*words, data, told["pure"], size=size)


def written(document: Mapping[str, Any]) -> str:
    """Return the results as text, each raw sample on a line of its own."""
    lines: list[str] = []

    def token(sample: object) -> str:
        lines.append(json.dumps(sample, separators=(",", ":")))
        return f"<{len(lines) - 1}>"

    cells = [
        {**cell, "samples": [token(each) for each in cell["samples"]]} for cell in document["cells"]
    ]
    text = json.dumps({**document, "cells": cells}, indent=1)
    return re.sub(r'"<(\d+)>"', lambda found: lines[int(found[1])], text) + "\n"


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def commit() -> str:
    """Return which kgroup this is, `unknown` outside of a checkout."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip() or "unknown"
