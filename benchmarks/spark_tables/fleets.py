"""A fleet's event logs, and one large group, judged by Spark and by one process.

Decides: that a group is right only when exactly the broken ones are found; and that a fleet's logs
are a few long runs under many names, so that writing them takes less than judging them.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.spark_source.session import Session, folder
from kgroup.audit import audit, verdict_json
from kgroup.spark.audit.fleet import Fleet
from kgroup.spark.audit.judge import Law
from tests.spark.fleet import text_of, write_whole
from tests.spark.sieving.planted import FAULTS, LongRun

LONG: Final = 10_000
"""Lines of each group of a fleet."""
_RUNS: Final = 20
_STAND_IN: Final = "g-00000000"

Sample = tuple[str, int, Callable[[], bool], int]
"""What is measured, its lines, the work, which tells whether its result is right, and how often."""


def fleet(session: Session, groups: int, runs: int) -> Iterator[Sample]:
    """Yield what is measured of a fleet: one group in fifty is broken."""
    with folder() as path:
        (path / "logs").mkdir()
        lines, broken = _write(path / "logs", groups)
        logs = path / "logs" / "*.jsonl"

        def found(source: Path) -> bool:
            verdict = Fleet(session.spark, [source]).verdict(Law())
            return {str(group.group) for group in verdict.groups if not group.clean} == broken

        def kept() -> bool:
            Fleet(session.spark, [logs]).keep(path / "kept")
            return (path / "kept" / "_kgroup" / "events.json").exists()

        def alone() -> bool:
            paths = sorted((path / "logs").glob("*.jsonl"))
            return {each.stem for each in paths if not audit([each]).clean} == broken

        yield "fleet, Spark, JSON to verdict", lines, lambda: found(logs), runs
        yield "fleet, Spark, JSON to Parquet", lines, kept, runs
        yield "fleet, Spark, Parquet to verdict", lines, lambda: found(path / "kept"), runs
        yield "fleet, one process", lines, alone, 1


def large(session: Session, size: int, runs: int) -> Iterator[Sample]:
    """Yield what is measured of one group in which a delivery is missing."""
    with folder() as path:
        log = write_whole(path, "large", FAULTS["lost"](Random(7), size).entries)
        right = verdict_json(audit([log]))

        def split() -> bool:
            (group,) = Fleet(session.spark, [log], large=1).verdict(Law()).groups
            return bool(group.verdict["problems"] == right["problems"])

        yield "large group, Spark", size, split, runs
        yield "large group, one process", size, lambda: not audit([log]).clean, 1


def _write(logs: Path, groups: int) -> tuple[int, set[str]]:
    texts = [text_of(LongRun(Random(number), LONG).go(), _STAND_IN) for number in range(_RUNS)]
    kinds = list(FAULTS.values())
    lines, broken = 0, set()
    for number in range(groups):
        name = f"g-{number:08}"
        text = texts[number % _RUNS]
        if number % 50 == 7:
            fault = kinds[number // 50 % len(kinds)](Random(number), LONG)
            text = text_of(fault.entries, _STAND_IN)
            broken.add(name)
        (logs / f"{name}.jsonl").write_text(text.replace(_STAND_IN, name), encoding="ascii")
        lines += text.count("\n")
    return lines, broken


def measured(session: Session, samples: Iterator[Sample]) -> Iterator[tuple[Any, ...]]:
    """Yield the name, size, rightness and costs of each sample; what is sampled often runs warm."""
    for what, size, work, runs in samples:
        seen = [work()] if runs > 1 else []
        costs = [session.cost(partial(_noted, seen, work)) for _ in range(runs)]
        yield what, size, all(seen), costs


def _noted(seen: list[bool], work: Callable[[], bool]) -> None:
    seen.append(work())
