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

from tests.house.parts import filled
from tests.house.reference import cell, table
from tests.search.campaign.ledger import Ledger
from tests.search.campaign.sums import Sum, legal_cells, rare_cells, sums
from tests.search.fuzz.targets import TARGETS
from tests.search.fuzz.test_fuzz import INPUTS
from tests.search.mutants.ledger import LEDGER as MUTANTS
from tests.search.simulation.campaign_ledger import shortened
from tests.search.simulation.coverage import ENOUGH
from tests.search.simulation.share import KNOWN, SHARES
from tests.search.simulation.stateful.hunting import EXAMPLES
from tests.testing.differential.report import LEDGER as DIFFERENTIAL
from tests.vectors import HERE as VECTORS

__all__ = ["NAME", "render"]

NAME: Final = "how-kgroup-is-tested.md"

_ROOT: Final = Path(__file__).parents[2]
_RESULTS: Final = _ROOT / "benchmarks" / "results"

_AIMS: Final[Mapping[str, int]] = MappingProxyType(
    {"A": 1_000_000, **dict.fromkeys(("T1", "T2", "T4", "T5", "T6"), 10_000_000)}
)
"""What campaigns are to reach: level, in all modes together, or target -> how many."""

_CHANGES: Final = (
    "d520c55",
    "770ff9f",
    "89538f3",
    "97e7f0b",
    "0098115",
    "1e90719",
    "32c908d",
    "d912e70",
    "11b75a6",
    "f541fc8",
    "9279532",
    "00b2044",
    "c3a6da8",
    "e5b4c4a",
    "69f5349",
    "7f583cc",
)
"""Changes of what a member does that came after a search that is on record, the oldest first."""

_STATIC: Final = frozenset({"00b2044", "69f5349"})
"""Those that a member without an instance id does not do otherwise by: worlds without static
members are as they were."""

_UNSEEN: Final = frozenset({"c3a6da8", "e5b4c4a", "7f583cc"})
"""Those by which no world that is searched whole is another one: all its pauses are one tick,
nobody in it drops a topic, and no topic has more or fewer partitions than it had."""

_CHANGES_IN: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("68693ba", "8762e21", "8189ce6", "3a2b387", "83fb60c"), 0),
        "c5711be": 5,
        "32c908d": 7,
        "fb650ce": 8,
        **dict.fromkeys(("2b122fb", "793ae22", "ff459ce", "622e03a", "b274b44"), 11),
    }
)
"""Commit of a search -> how many of these it has; one that is not named here has them all."""

_MENDED: Final[Mapping[str, str]] = MappingProxyType({"8189ce6": "0098115"})
"""Commit of a search that broke something -> the commit that mended it."""


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
            str(each["differences"]),
            str(sum(each["explained"].values())),
            f"`{shortened(each['commit'])}`",
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
    done = sums(Ledger())
    begun = {_aimed_at(each.kind) for each in done}
    todo = [(name, "0", _aim(name), "0", "", "", "") for name in _AIMS if name not in begun]
    rows = (*todo, *(_campaign(each) for each in done))
    said = table(("what", "done", "aim", "sittings", "a second", "broke", "last by"), rows)
    if any(commit.endswith("+") for each in done for commit in each.commits):
        said += "\n\n`+`: the code had changes that are not in this commit."
    return said


def _campaign(done: Sum) -> tuple[str, ...]:
    broke = ", ".join(f"{name} {count}" for name, count in done.broken.most_common())
    return (
        done.kind,
        f"{done.count:,}",
        _aim(done.kind),
        str(done.sittings),
        f"{done.per_second:,.1f}" if done.per_second < ENOUGH else f"{done.per_second:,.0f}",
        broke or "nothing",
        f"`{done.commits[-1]}`, {done.last_at}",
    )


def _aimed_at(kind: str) -> str:
    return kind.split(maxsplit=1)[0]


def _aim(kind: str) -> str:
    aim = _AIMS.get(_aimed_at(kind))
    if aim is None:
        return "none"
    return f"{aim:,}" if kind.startswith("T") else f"{aim:,} in all modes"


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
            "complete" if each["complete"] else f"stopped at {each['states']:,}",
            _broke(each),
            f"`{shortened(each['commit'])}`",
            _changed_since(each["commit"], static=name.startswith("static ")),
        )
        for name, each in _read(_RESULTS / "exhaustive.json").items()
    ]
    heads = ("world", "states", "depth", "search", "broke", "commit", "member changed since")
    return f"{table(heads, rows)}\n\n{_WORLDS}"


_WORLDS: Final = """\
2x2x1 is two members, two partitions and one fault of the kinds that are named.
`prompt`: nothing of an application, no batch and no listener, goes on while the clock moves
(`--patience 0`), so the world is smaller; otherwise one thing at a time may.
A search that stopped has not seen all of its world.
The last column counts changes of what a member does that came after the search: such a row is about
an older product, and proves nothing about what has changed. What only static members do otherwise
is counted in their worlds alone; what none of these worlds has, as pauses that grow, in none."""


def _broke(search: Mapping[str, Any]) -> str:
    if not search["broken"]:
        return "nothing"
    mended = _MENDED.get(shortened(search["commit"]))
    return cell(search["broken"]) + (f"; mended since, by `{mended}`" if mended else "")


def _changed_since(commit: str, *, static: bool) -> str:
    later = _CHANGES[_CHANGES_IN.get(shortened(commit), len(_CHANGES)) :]
    missing = [each for each in later if static or each not in _STATIC]
    missing = [each for each in missing if each not in _UNSEEN]
    return f"{len(missing)} times or more, as by `{missing[-1]}`" if missing else "not that we know"


def _mutants() -> str:
    ledger = _read(MUTANTS)
    levels = Counter(row["level"] for row in ledger["mutants"] if row["killed by"])
    where = ", ".join(f"{count} at level {level}" for level, count in sorted(levels.items()))
    said = f"Planted: {len(ledger['mutants'])}. Killed: {ledger['killed']} ({where})."
    drawn = [row for row in ledger["mutants"] if row["killed by"] and row["plan"] == "drawn"]
    last = max((row["schedules"] for row in drawn), default=0)
    said += f" In drawn schedules: {len(drawn)}, each within {last:,} of them; others in a"
    said += " written one."
    hunted = Counter(shortened(row["commit"]) for row in ledger["mutants"])
    by = ", ".join(f"`{name}` {count}" for name, count in hunted.most_common())
    said += f"\n\nBy which code each was hunted last: {by}."
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
    found = _read(path)
    rows = [
        (
            name,
            f"{each['runs per second']:,.1f}",
            "" if each["goal"] is None else f"{each['goal']:g}",
        )
        for name, each in found["figures"].items()
    ]
    share, load = found["share of each whole test run"], found["environment"]["load_average"][0]
    return (
        f"{table(('level', 'groups a second on one core', 'aim'), rows)}\n\n"
        f"By processor time, at `{shortened(found['commit'])}`, with {load:.0f} processes that "
        "wanted a core; each wait for memory counts.\n"
        f"The share of the search in each whole test run takes {share['minutes on two cores']:g} "
        f"minutes of two cores at these rates; the aim was {share['goal']:g}."
    )


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
