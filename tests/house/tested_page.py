"""The figures of the page "How kgroup is tested", out of what searches have left committed.

Decides: which figures of which ledger are shown; that what broke, or lived, is named.
Never: measures anything, or says a figure that no committed file holds.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kgroup.testing.simulation.coverage import ENOUGH
from tests.campaign.ledger import Ledger
from tests.campaign.sums import legal_cells, rare_cells, sums
from tests.fuzz.targets import TARGETS
from tests.fuzz.test_fuzz import INPUTS
from tests.house.parts import filled
from tests.house.reference import cell, table
from tests.mutants.ledger import LEDGER as MUTANTS
from tests.testing.differential.report import LEDGER as DIFFERENTIAL
from tests.testing.simulation.share import KNOWN, SHARES
from tests.testing.simulation.stateful.hunting import EXAMPLES
from tests.vectors import HERE as VECTORS

__all__ = ["NAME", "render"]

NAME: Final = "how-kgroup-is-tested.md"

_ROOT: Final = Path(__file__).parents[2]
_RESULTS: Final = _ROOT / "benchmarks" / "results"
_COMMIT: Final = 7


def render() -> str:
    """Return the page with its figures written anew."""
    return filled(_ROOT / "docs" / NAME, _PARTS)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _vectors() -> str:
    counts: Counter[str] = Counter()
    for path in VECTORS.rglob("*.jsonl.gz"):
        counts[path.parent.name] += gzip.decompress(path.read_bytes()).count(b"\n")
    rows = [(f"`{name}`", f"{counts[name]:,}") for name in sorted(counts)]
    return table(("vectors", "lines"), rows)


def _differential() -> str:
    rows = [
        (
            version,
            *(f"{each[name]:,}" for name in ("scripts", "requests", "cells reached")),
            str(each["differences"] - sum(each["explained"].values())),
            str(sum(each["explained"].values())),
            f"`{each['commit'][:_COMMIT]}`",
        )
        for version, each in _read(DIFFERENTIAL).items()
    ]
    heads = ("Kafka", "scripts", "requests", "cells", "unexplained", "explained", "commit")
    return table(heads, rows)


def _share() -> str:
    rows = [
        (f"level {share}", f"{share.schedules:,}", f"{share.seed} and the following")
        for share in SHARES
    ]
    rows.append(("Hypothesis' rules", f"{EXAMPLES:,}", "the same each time"))
    rows += [(f"target {name}", f"{INPUTS:,}", "seed 1") for name in TARGETS]
    known = len(_read(KNOWN))
    said = "No run of it is known to fail." if not known else f"{known} are known to fail, by name."
    return f"{table(('what', 'how many', 'seeds'), rows)}\n\n{said}"


def _campaigns() -> str:
    rows = [
        (
            each.kind,
            f"{each.count:,}",
            str(each.sittings),
            f"{each.per_second:,.1f}" if each.per_second < ENOUGH else f"{each.per_second:,.0f}",
            ", ".join(f"{name} {count}" for name, count in each.broken.most_common()) or "nothing",
            f"`{each.commits[-1]}`, {each.last_at}",
        )
        for each in sums(Ledger())
    ]
    if not rows:
        return "No sitting is on record."
    return table(("what", "done", "sittings", "a second", "broke", "last by"), rows)


def _cells() -> str:
    levels = [level for level in ("A", "A'") if Ledger().cells(level)]
    if not levels:
        return "No sitting is on record."
    return "\n\n".join(_cells_of(level) for level in levels)


def _cells_of(level: str) -> str:
    rare = rare_cells(Ledger(), level)
    met, whole = len(legal_cells()) - len(rare), len(legal_cells())
    said = f"At level {level}, {met} of {whole} legal cells were met {ENOUGH} times or more"
    if not rare:
        return f"{said}."
    named = ", ".join(f"`{name}` {count}" for name, count in rare.items())
    return f"{said}; the others, and how often: {named}."


def _exhaustive() -> str:
    rows = [
        (
            name,
            f"{each['states']:,}",
            str(each["depth"]),
            "complete" if each["complete"] else f"stopped at {each['limit']:,}",
            cell(each["broken"] or "nothing"),
            f"`{each['commit'][:_COMMIT]}`",
        )
        for name, each in _read(_RESULTS / "exhaustive.json").items()
    ]
    return table(("world", "states", "depth", "search", "broke", "commit"), rows)


def _mutants() -> str:
    ledger = _read(MUTANTS)
    levels = Counter(row["level"] for row in ledger["mutants"] if row["killed by"])
    where = ", ".join(f"{count} at level {level}" for level, count in sorted(levels.items()))
    said = f"Planted: {len(ledger['mutants'])}. Killed: {ledger['killed']} ({where})."
    drawn = [row for row in ledger["mutants"] if row["killed by"] and row["plan"] == "drawn"]
    last = max((row["schedules"] for row in drawn), default=0)
    said += f" In drawn schedules: {len(drawn)}, each within {last:,} of them; others in a"
    said += " written one."
    alive = [row for row in ledger["mutants"] if not row["killed by"]]
    if not alive:
        return said
    rows = [(cell(row["name"]), row["level"], f"{row['schedules']:,}") for row in alive]
    lived = table(("not killed", "level", "schedules played"), rows)
    return f"{said}\n\n{lived}"


def _rates() -> str:
    path = _RESULTS / "simulation.json"
    if not path.exists():
        return "Not measured on a quiet machine yet."
    entries = _read(path)["figures"]
    rows = [
        (name, f"{each['runs per second']:,.1f}", "" if each["goal"] is None else str(each["goal"]))
        for name, each in entries.items()
    ]
    return table(("level", "groups a second on one core", "aim"), rows)


_PARTS: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "vectors": _vectors,
        "differential": _differential,
        "share": _share,
        "campaigns": _campaigns,
        "cells": _cells,
        "exhaustive": _exhaustive,
        "mutants": _mutants,
        "rates": _rates,
    }
)
