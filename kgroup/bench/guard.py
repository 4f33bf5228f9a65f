"""Whether kgroup has become slower than it was, as ratios to a peer of the same run.

Decides: that a ratio has become worse when its whole interval lies beyond the committed one's, with
a tolerance for another machine on top; so noise alone does not fail, and one run proves little.
Instructions are judged where valgrind is there, and passed over elsewhere.
Never: compares times of two machines: only ratios of two clients that took turns.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kgroup.bench.compare import MORE_IS_BETTER, Row, two_clients
from kgroup.errors import ConfigError
from kgroup.values import dataclass

OURS: Final = "kgroup"
PEER: Final = "aiokafka"
TOLERANCE: Final = 0.1
COUNTED: Final = "instructions"
"""A figure that not every machine can tell."""
FIGURES: Final = frozenset(
    {"cpu_us", "cpu_us_whole", "records_per_s", "p50_ms", "rss_mb", "stay_max_ms", "moved_ms"}
    | {COUNTED}
)
Ratios = Mapping[str, Mapping[str, float]]
"""Name of a ratio -> `ratio`, `low`, `high`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One ratio, then and now.

    Args:
        name: of the ratio.
        now: found, with its interval.
        then: committed, with its interval.
        worse: whether it has become worse beyond both intervals.
    """

    name: str
    now: Mapping[str, float]
    then: Mapping[str, float]
    worse: bool


def ratios(document: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the ratios of a result, as they are committed."""
    found = {}
    for row in two_clients(document, OURS, PEER):
        if row.difference is not None and row.figure in FIGURES:
            interval = row.difference.interval
            found[_name(row)] = {
                "ratio": round(row.difference.ratio, 4),
                "low": round(interval.low, 4),
                "high": round(interval.high, 4),
            }
    return found


def guarded(now: Ratios, then: Ratios, tolerance: float = TOLERANCE) -> list[Guarded]:
    """Judge every ratio that was committed; instructions only where they were counted.

    Args:
        now: as found.
        then: as committed.
        tolerance: share by which the committed interval is widened.

    Raises:
        ConfigError: a committed ratio was not measured.
    """
    known = {name: each for name, each in then.items() if name in now or not _counted(name)}
    missing = sorted(known.keys() - now.keys())
    if missing:
        raise ConfigError("ratios", missing[0], f"one that was measured: {', '.join(sorted(now))}")
    return [
        Guarded(name=name, now=now[name], then=each, worse=_worse(name, now[name], each, tolerance))
        for name, each in known.items()
    ]


def read_ratios(path: Path) -> Ratios:
    """Return committed ratios.

    Raises:
        ConfigError: there is no such file, or it holds something else.
    """
    expected = "a file that `kgroup bench guard --write` wrote"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        fair = all({"ratio", "low", "high"} <= each.keys() for each in found.values())
    except (OSError, ValueError, AttributeError) as error:
        raise ConfigError("ratios", str(path), f"{expected} ({error})") from None
    if not fair or not found:
        raise ConfigError("ratios", str(path), expected)
    kept: Ratios = found
    return kept


def _counted(name: str) -> bool:
    return name.startswith(f"{COUNTED}: ")


def _worse(
    name: str, now: Mapping[str, float], then: Mapping[str, float], tolerance: float
) -> bool:
    if name.rpartition(" ")[2] in MORE_IS_BETTER:
        return now["high"] < then["low"] * (1 - tolerance)
    return now["low"] > then["high"] * (1 + tolerance)


def _name(row: Row) -> str:
    return f"{row.cell} / {row.other.split(': ')[1]} {row.figure}"
