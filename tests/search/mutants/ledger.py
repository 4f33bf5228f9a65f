"""What the last whole hunt has found, for the record.

Decides: the form of `ledger.json`.
Never: hides a survivor.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.search.mutants.hunting import Finding
from tests.search.mutants.listed import ALL

__all__ = ["LEDGER", "document_of", "write_ledger"]

LEDGER = Path(__file__).parent / "ledger.json"


def document_of(findings: Sequence[Finding], schedules: int) -> dict[str, Any]:
    """Return the figures of a hunt.

    Args:
        findings: one of each mutant.
        schedules: that each had at most.

    Of each it is said after how many schedules it was found, counted from seed 0, and how many of
    these were played.
    """
    return _document([_row(each, schedules) for each in findings])


def write_ledger(findings: Sequence[Finding], schedules: int) -> None:
    """Write them down; a mutant that took no part keeps what was found before."""
    rows = {row["name"]: row for row in _known()}
    rows.update((each.mutant.name, _row(each, schedules)) for each in findings)
    names = [mutant.name for mutant in ALL]
    text = json.dumps(_document([rows[name] for name in names if name in rows]), indent=1)
    LEDGER.write_text(f"{text}\n", encoding="utf-8")


def _known() -> list[dict[str, Any]]:
    if not LEDGER.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(LEDGER.read_text(encoding="utf-8"))["mutants"]
    return rows


def _document(rows: list[dict[str, Any]]) -> dict[str, Any]:
    killed = sum(row["killed by"] is not None for row in rows)
    return {"killed": killed, "survived": len(rows) - killed, "mutants": rows}


def _row(finding: Finding, schedules: int) -> dict[str, Any]:
    mutant = finding.mutant
    return {
        "name": mutant.name,
        "module": mutant.module,
        "level": mutant.place,
        "mode": mutant.mode.value,
        "plan": mutant.plan or "drawn",
        "rule": mutant.rule,
        "killed by": list(finding.oracles) if finding.killed else None,
        "broken": list(finding.rules),
        "seed": finding.seed,
        "schedules": finding.needed,
        "played": finding.played,
        "at most": schedules,
        "seconds": round(finding.seconds, 2),
        "not counted": finding.noisy,
        "commit": finding.commit,
    }
