"""How a simulation looks: one table in which the assignors stand beside each other at each event.

Decides: what a person sees of each outcome, and the document that programs get.
Never: plays anything.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from kgroup.assignors import RebalanceProtocol
from kgroup.assignors.simulator import (
    Outcome,
    Scenario,
    in_words,
    outcome_document,
    scenario_document,
)
from kgroup.cli.groups import partitions_in_words
from kgroup.cli.printing import on_one_line
from kgroup.cli.tables import Cell, make_table
from kgroup.values import dataclass

OPTIMUM: Final = "optimum"
"""What the row is called that is not an assignor's, but the least moves at the best balance."""

LEGEND: Final = (
    "spread: fewest-most partitions of a member; moves: partitions taken from members that\n"
    "stay; stopped: the same, be it for a round; racks: nearby/possible"
)
"""What the columns mean."""

_COLUMNS: Final = (
    *("spread", "deviation", "moves", "stopped", "unowned", "racks", "rounds", "time"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario as one assignor played it.

    Args:
        label: what the assignor is called.
        protocol: what the members followed.
        outcomes: at the beginning and after each event, as far as it came.
        error: why it ended early, None when it did not.
        assumed: what is taken for granted of what members send, None for nothing.
    """

    label: str
    protocol: RebalanceProtocol
    outcomes: tuple[Outcome, ...]
    error: Exception | None = None
    assumed: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown.

    Args:
        owners: whether owners of partitions are shown.
        time: whether it is said how long the assignors took.
    """

    owners: bool = False
    time: bool = True


def simulation_tables(
    scenario: Scenario, runs: Sequence[Run], shown: Shown, *, stacked: bool = False
) -> Group:
    """Return what a person sees; a column in which there is nothing to tell is left out.

    Args:
        scenario: what was played.
        runs: by each assignor.
        shown: what is shown of them.
        stacked: whether an event has a line of its own, where there is little room.
    """
    outcomes = [outcome for run in runs for outcome in run.outcomes]
    left_out = {
        "time" if not shown.time else "",
        "racks" if not any(outcome.racks for outcome in outcomes) else "",
        "unowned" if not any(outcome.unowned for outcome in outcomes) else "",
    }
    columns = [name for name in _COLUMNS if name not in left_out]
    heads, rows = ("event", "assignor", *columns, ""), _rows(runs, columns)
    table = make_table(heads[1:], _stacked(rows)) if stacked else make_table(heads, rows)
    parts: list[RenderableType] = [Text(_title(scenario), style="bold"), table]
    if shown.owners:
        owners = ("event", "assignor", "member", "owns")
        parts += [Text(), make_table(owners, _owner_rows(runs))]
    return Group(*parts)


def simulation_json(scenario: Scenario, runs: Sequence[Run], shown: Shown) -> dict[str, Any]:
    """Return what programs get: the scenario as it can be read again, and the runs."""
    return {**scenario_document(scenario), "runs": [_run_json(run, shown) for run in runs]}


def _title(scenario: Scenario) -> str:
    partitions = sum(topic.partitions for topic in scenario.topics.values())
    counts = {
        "member": len(scenario.members),
        "topic": len(scenario.topics),
        "partition": partitions,
        "event": len(scenario.events),
    }
    return ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counts.items())


def _rows(runs: Sequence[Run], columns: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    for at in range(max(_length(run) for run in runs)):
        event = next(
            (in_words(run.outcomes[at].event) for run in runs if at < len(run.outcomes)), ""
        )
        for run in runs:
            if at < len(run.outcomes):
                cells = _cells(run.outcomes[at], own=run.label != OPTIMUM)
                yield (event, run.label, *(cells[name] for name in columns), "")
            elif at == len(run.outcomes) and run.error is not None:
                problem = Text(on_one_line(str(run.error)), style="red")
                yield (event, run.label, *("" for _ in columns), problem)
            else:
                continue
            event = ""


def _length(run: Run) -> int:
    return len(run.outcomes) + (run.error is not None)


def _stacked(rows: Iterable[tuple[Cell, ...]]) -> Iterator[tuple[Cell, ...]]:
    for event, label, *cells in rows:
        if event:
            yield (event, *("" for _ in cells))
        yield (f"  {label}", *cells)


def _cells(outcome: Outcome, *, own: bool) -> dict[str, Cell]:
    """Return the cells of a row by column; those that are not the assignor's own are empty."""
    even, racks = outcome.balance, outcome.racks
    return {
        "spread": f"{even.fewest}-{even.most}",
        "deviation": round(even.deviation, 2),
        "moves": outcome.moves,
        "stopped": outcome.stopped if own else None,
        "unowned": outcome.unowned,
        "racks": None if racks is None else f"{racks.matched}/{racks.possible}",
        "rounds": outcome.rounds if own else None,
        "time": _time(outcome.seconds) if own else None,
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{seconds * 1000:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _owner_rows(runs: Sequence[Run]) -> Iterator[tuple[Cell, ...]]:
    for at in range(max(len(run.outcomes) for run in runs)):
        for run in runs:
            if at >= len(run.outcomes):
                continue
            outcome = run.outcomes[at]
            for place, (member_id, owned) in enumerate(sorted(outcome.owned.items())):
                head = (in_words(outcome.event), run.label) if place == 0 else ("", "")
                yield (*head, member_id, partitions_in_words(owned) or "nothing")


def _run_json(run: Run, shown: Shown) -> dict[str, Any]:
    outcomes = [outcome_document(each, with_owners=shown.owners) for each in run.outcomes]
    hidden = {"rounds", "stopped", "seconds"} if run.label == OPTIMUM else set[str]()
    hidden |= set() if shown.time else {"seconds"}
    return {
        "assignor": run.label,
        "protocol": run.protocol.value,
        "outcomes": [_without(each, hidden) for each in outcomes],
        "error": None if run.error is None else str(run.error),
        "assumed": run.assumed,
    }


def _without(document: Mapping[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in document.items() if name not in names}
