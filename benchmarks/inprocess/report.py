"""What the samples say: medians, and whether the goals are met.

Decides: that a median speaks for a contestant, and which contestant a goal is about.
Never: leaves out a goal that is missed.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.table import Table

from benchmarks.inprocess.contest import IN_PROCESS

FORMS_WITHIN = 0.005
READS_PER_SECOND = 100_000

Samples = Mapping[str, Sequence[Sequence[float]]]


def summary(question: str, samples: Samples, records: int) -> dict[str, dict[str, float]]:
    """Return the figures of each contestant of a question."""
    return {name: _figures(question, rows, records) for name, rows in samples.items()}


def _figures(question: str, rows: Sequence[Sequence[float]], records: int) -> dict[str, float]:
    seconds = [row[0] for row in rows]
    if question == "reading":
        middle = median(seconds)
        return {"seconds": round(middle, 4), "records_per_s": round(records / middle)}
    figures = {"median_ms": _ms(median(seconds)), "best_ms": _ms(min(seconds))}
    if question == "forming":
        figures["cpu_ms"] = _ms(median(row[1] for row in rows))
    return figures


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def goals(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Judge every goal that was measured."""
    found = []
    for name, row in figures.get("forming", {}).items():
        text = f"a group of 4 forms within {FORMS_WITHIN * 1000:g} ms: {name}"
        found.append(_goal(text, row["median_ms"], row["median_ms"] < FORMS_WITHIN * 1000))
    first = dict(figures.get("first record", {}))
    ours = first.pop(IN_PROCESS, None)
    for name, row in first.items():
        if ours is not None:
            met = ours["median_ms"] <= row["median_ms"]
            found.append(
                _goal(f"aiokafka's first record no later than on {name}", ours["median_ms"], met)
            )
    for name, row in figures.get("reading", {}).items():
        text = f"at least {READS_PER_SECOND:,} records/s: {name}"
        found.append(_goal(text, row["records_per_s"], row["records_per_s"] >= READS_PER_SECOND))
    return found


def _goal(text: str, figure: float, met: bool) -> dict[str, Any]:  # noqa: FBT001 - a verdict
    return {"goal": text, "figure": figure, "met": met}


def tables(document: Mapping[str, Any]) -> list[Table]:
    """Show the figures of each question, and the goals."""
    shown = []
    for question, rows in document["figures"].items():
        heads = list(next(iter(rows.values())))
        table = Table(question, *heads)
        for name, row in rows.items():
            table.add_row(name, *(f"{row[head]:,}" for head in heads))
        shown.append(table)
    verdicts = Table("goal", "figure", "met")
    for goal in document["goals"]:
        verdicts.add_row(goal["goal"], f"{goal['figure']:,}", "yes" if goal["met"] else "no")
    return [*shown, verdicts]
