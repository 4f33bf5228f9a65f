"""What the last whole hunt has found, for the record.

Decides: the form of `ledger.json`.
Never: hides a survivor.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.mutants.hunting import Finding

__all__ = ["LEDGER", "document_of", "write_ledger"]

LEDGER = Path(__file__).parent / "ledger.json"


def document_of(findings: Sequence[Finding], schedules: int) -> dict[str, Any]:
    """Return the figures of a hunt.

    Args:
        findings: one of each mutant.
        schedules: that each had at most.
    """
    return {
        "commit": _commit(),
        "schedules at most": schedules,
        "killed": sum(each.killed for each in findings),
        "survived": sum(not each.killed for each in findings),
        "mutants": [_row(each) for each in findings],
    }


def write_ledger(findings: Sequence[Finding], schedules: int) -> None:
    """Write them down."""
    text = json.dumps(document_of(findings, schedules), indent=1)
    LEDGER.write_text(f"{text}\n", encoding="utf-8")


def _row(finding: Finding) -> dict[str, Any]:
    mutant = finding.mutant
    return {
        "name": mutant.name,
        "module": mutant.module,
        "level": mutant.level.value,
        "mode": mutant.mode.value,
        "killed by": list(finding.oracles) if finding.killed else None,
        "broken": list(finding.rules),
        "seed": finding.seed,
        "schedules": finding.played,
        "seconds": round(finding.seconds, 2),
        "not counted": finding.noisy,
    }


def _commit() -> str | None:
    """Return the commit of the checkout, None outside of one."""
    found = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None
