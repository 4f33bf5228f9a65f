"""What is to be reached, and whether it is.

Decides: the goals, as data, and which peers a goal is compared with. CPU per record is judged with
the whole process counted, imports and closing included.
Never: leaves out a goal that is missed, or calls one reached that was not measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgroup.bench.tables import number

GOAL_HEADS: Final = ("goal", "found", "after start-up", "to reach", "reached", "best peer")


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal.

    Args:
        what: for people.
        cell: name of the cell that is judged.
        figure: which of its figures.
        limit: what it must not exceed, or must reach when `more` is true.
        peers: cells of other clients to show beside it.
        more: whether a higher figure is better.
        also: a second figure of the same cell that is shown, but not judged.
    """

    what: str
    cell: str
    figure: str
    limit: float
    peers: tuple[str, ...] = ()
    more: bool = False
    also: str = ""


def _cpu(what: str, who: str, limit: float, *peers: str) -> Goal:
    names = tuple(f"read: {peer}: 100 B" for peer in peers)
    return Goal(what, f"read: {who}: 100 B", "cpu_us_whole", limit, names, also="cpu_us")


def _rate(data: str, figure: str, limit: float) -> Goal:
    peers = ("java poll", "confluent consume, tuned", "aiokafka getmany")
    names = tuple(f"read: {peer}: {data}" for peer in peers)
    what = f"{'records' if figure == 'records_per_s' else 'MB'}/s, {data}"
    return Goal(what, f"read: kgroup records: {data}", figure, limit, names, more=True)


def _small(what: str, job: str, figures: Mapping[str, float], *clients: str) -> Iterator[Goal]:
    ours, *others = (f"{job}: {client}: 100 B" for client in clients)
    for figure, limit in figures.items():
        yield Goal(f"{what}, {_NAMES[figure]}", ours, figure, limit, tuple(others))


_NAMES: Final = {
    "cpu_us": "CPU",
    "p50_ms": "p50",
    "form_cpu_s": "CPU to form",
    "idle_ms_per_s": "idle CPU of each",
    "rss_mb": "peak RSS",
    "first_record_s": "first record",
    "import_s": "seconds",
}
_BATCHES: Final = ("java poll", "confluent consume", "aiokafka getmany")
_STARTERS: Final = ("aiokafka async for", "confluent poll", "kafka-python poll", "java poll")

GOALS: Final[Sequence[Goal]] = (
    _cpu("records in a loop", "kgroup records", 0.30, *_BATCHES),
    _cpu("values in a loop", "kgroup values", 0.20, *_BATCHES),
    _cpu("columns, nothing touched", "kgroup columns", 0.10),
    _cpu("`async for record`", "kgroup async for", 0.8, "confluent poll", "aiokafka async for"),
    _cpu("drop-in `getmany`", "drop-in aiokafka getmany", 0.9, "aiokafka getmany"),
    _cpu("drop-in `async for`", "drop-in aiokafka async for", 1.5, "aiokafka async for"),
    _cpu("drop-in `poll`", "drop-in kafka-python poll", 1.5, "kafka-python poll"),
    _cpu("drop-in, iterated", "drop-in kafka-python iterate", 2.5, "kafka-python iterate"),
    _rate("100 B", "records_per_s", 3e6),
    _rate("1 kB", "mb_per_s", 1000.0),
    _cpu("records, without compiler", "kgroup without compiler records", 1.2, "aiokafka getmany"),
    _cpu("values, without compiler", "kgroup without compiler values", 0.7, "aiokafka getmany"),
    Goal(
        "peak RSS, defaults",
        "read: kgroup records: 100 B",
        "rss_mb",
        90.0,
        tuple(f"read: {peer}: 100 B" for peer in _BATCHES),
    ),
    *_small(
        "one commit",
        "commit",
        {"cpu_us": 180.0, "p50_ms": 0.42},
        *("kgroup", "confluent", "aiokafka", "kafka-python", "java"),
    ),
    *_small("process start", "start", {"first_record_s": 0.20}, "kgroup async for", *_STARTERS),
    *_small(
        "process start of the drop-in",
        "start",
        {"first_record_s": 0.25},
        *("drop-in aiokafka async for", *_STARTERS),
    ),
    *_small(
        "`from kgroup import Consumer`",
        "import",
        {"import_s": 0.10},
        *("kgroup", "aiokafka", "confluent", "kafka-python"),
    ),
    *_small(
        "100 members in one process",
        "members",
        {"form_cpu_s": 0.5, "idle_ms_per_s": 0.5, "rss_mb": 60.0},
        *("kgroup", "aiokafka"),
    ),
)


def verdicts(entries: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Judge every goal.

    Args:
        entries: cells of the results, by name.
    """
    return [_verdict(goal, entries) for goal in GOALS]


def _verdict(goal: Goal, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found = _median(entries, goal.cell, goal.figure)
    peers = {name: _median(entries, name, goal.figure) for name in goal.peers}
    known = {name: figure for name, figure in peers.items() if figure is not None}
    best = (max if goal.more else min)(known, key=lambda name: known[name]) if known else None
    reached = None
    if found is not None:
        reached = found >= goal.limit if goal.more else found <= goal.limit
    return {
        "what": goal.what,
        "cell": goal.cell,
        "figure": goal.figure,
        "found": found,
        "after_start_up": _median(entries, goal.cell, goal.also) if goal.also else None,
        "to_reach": goal.limit,
        "reached": reached,
        "best_peer": best,
        "best_peer_found": known[best] if best else None,
    }


def _median(entries: Mapping[str, Mapping[str, Any]], name: str, figure: str) -> float | None:
    found = entries.get(name, {}).get("figures", {}).get(figure)
    return None if found is None else float(found["median"])


def goal_row(goal: Mapping[str, Any]) -> list[str]:
    """Return the row of a goal."""
    figure = goal["figure"]
    verdict = {True: "yes", False: "no", None: "not measured"}[goal["reached"]]
    peer = ""
    if goal["best_peer"]:
        name = goal["best_peer"].split(": ")[1]
        peer = f"{name} {number(goal['best_peer_found'], figure)}"
    after = goal["after_start_up"]
    return [
        goal["what"],
        "-" if goal["found"] is None else number(goal["found"], figure),
        "" if after is None else number(after, figure),
        number(goal["to_reach"], figure),
        verdict,
        peer,
    ]
