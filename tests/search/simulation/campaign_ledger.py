"""What a campaign leaves for the record: what was played, by which code, and what came of it.

Decides: the fields of the ledger.
Never: holds anything that cannot be had again from the same commit and seeds, except times.
"""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import kgroup
from tests.search.simulation.campaign import Campaign, Found
from tests.search.simulation.campaign_chunk import Failure
from tests.search.simulation.campaign_saving import Saved

__all__ = ["circumstances", "commit", "ledger", "save_ledger", "shortened"]

_PACKAGES: Final = ("kgroup", "anyio", "trio")
_CHANGED: Final = "+"
_SHORT: Final = 7


def ledger(campaign: Campaign, found: Found, saved: Sequence[Saved] = ()) -> dict[str, Any]:
    """Return a campaign and what came of it as plain values.

    Args:
        campaign: what was played.
        found: what came of it.
        saved: failures that were kept.
    """
    return {
        "campaign": {
            "level": campaign.level.value,
            "mode": campaign.mode.value,
            "backend": campaign.backend,
            "first_seed": campaign.seed,
            "schedules": campaign.schedules,
            "processes": campaign.processes,
        },
        "result": "good" if found.good else "broken",
        "interrupted": found.interrupted,
        **found.tally.to_json(),
        "seconds": round(found.seconds, 2),
        "schedules_per_second": round(found.rate, 1),
        "played_twice": found.checked,
        "not_the_same": [each.schedule.to_json() for each in found.mismatches],
        "violations": [_violation(each, saved) for each in found.failures],
        "coverage": found.coverage.to_json(),
        "made": circumstances(),
    }


def _violation(failure: Failure, saved: Sequence[Saved]) -> dict[str, Any]:
    kept = next((each for each in saved if each.failure is failure), None)
    return {
        "seed": failure.schedule.seed,
        "rules": list(failure.rules),
        "text": failure.text,
        "picks": None if kept is None else kept.picks,
        "files": [] if kept is None else [each.name for each in kept.files],
    }


def circumstances() -> dict[str, Any]:
    """Return when, by which code, and on what machine something is done."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "load": [round(each, 2) for each in os.getloadavg()],
        },
    }


def _versions() -> dict[str, str]:
    known = {}
    for name in _PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def commit() -> str | None:
    """Return the commit of the code that was run, with a `+` when it was changed since.

    The code is kgroup, and all Python of the checkout that it lies in; None outside of one.
    """
    folder = Path(kgroup.__file__).parent
    # An installed package may lie in somebody else's checkout, where it is not tracked.
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    found = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", ".", ":/*.py")
    return None if found is None else f"{found}{_CHANGED if changed else ''}"


def shortened(known: str | None) -> str:
    """Return a commit as a reader is told it: its beginning, and whether it was changed since.

    Args:
        known: commit as written down, None where nobody knows it.
    """
    if not known:
        return "unknown"
    return f"{known[:_SHORT]}{_CHANGED if known.endswith(_CHANGED) else ''}"


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, check=False, text=True
        )
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def save_ledger(values: dict[str, Any], path: Path) -> None:
    """Write a ledger.

    Raises:
        OSError: it cannot be written there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(values, indent=1)}\n", encoding="utf-8")
