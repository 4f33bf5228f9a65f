"""The results as JSON: one schema, which any other tool may read or write.

Decides: the schema::

    {"schema": 1, "seed": ..., "plan": {...}, "environment": {...}, "broker": "...",
     "commit": "...", "compiled": true, "versions": {package: version},
     "cells": [{"name", "job", "client", "level", "loop", "data", "pure", "records",
                "status": "measured" | "absent" | "failed" | "wrong", "reason",
                "figures": {figure: {"median", "low", "high"}}, "samples": [raw, ...]}],
     "goals": [{"what", "cell", "figure", "found", "after_start_up", "to_reach",
                "reached": true | false | null, "best_peer", "best_peer_found"}],
     "profiles": {cell: [{"function", "calls", "share"}]}}

A raw sample is the answers of a client's process (`benchmarks.clients`), with the load when it was
started, when that was, and the CPU of the whole process.
Never: names the machine or one of its folders.
"""

import importlib.util
import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from benchmarks.consume.contest import Entry
from benchmarks.consume.figures import summary
from benchmarks.consume.goals import verdicts
from benchmarks.consume.plan import Plan
from benchmarks.consume.scenarios import DATA
from benchmarks.consume.workers import ROOT
from benchmarks.machine import environment

SCHEMA: Final = 1
_BYTES: Final = {data.name: data.value_bytes for data in DATA}


def build(plan: Plan, broker: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the results.

    Args:
        plan: how much was measured.
        broker: version and kind.
        entries: what became of each cell.
    """
    cells = [described(entry, plan) for entry in entries]
    answers = [sample["result"] for entry in entries for sample in entry.samples]
    versions: dict[str, str] = {}
    for answer in answers:
        versions |= answer.get("versions", {})
    ours = (answer["compiled"] for answer in answers if answer.get("compiled") is not None)
    return {
        "schema": SCHEMA,
        "seed": plan.seed,
        "plan": asdict(plan),
        "environment": environment(*filter(_installed, ("anyio", "trio", "uvloop"))),
        "broker": broker,
        "commit": _commit(),
        "compiled": any(ours),
        "versions": dict(sorted(versions.items())),
        "cells": cells,
        "goals": verdicts({cell["name"]: cell for cell in cells}),
        "profiles": {},
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
    size = {"value_bytes": _BYTES[cell["data"]], "members": members}
    return summary(cell["job"], cell["samples"], size)


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


def _commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout.strip() or "unknown"
