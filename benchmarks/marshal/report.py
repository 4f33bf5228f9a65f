"""Which goals the figures reach.

Decides: what is compared with what; a figure that was not measured is neither reached nor missed.
Never: measures.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple


class _Goal(NamedTuple):
    """Where a figure stands in the document, and its bound."""

    path: tuple[str, ...]
    bound: float
    at_least: bool


_GOALS: Final = {
    "messages folded a second": _Goal(
        ("fold", "kgroup", "messages a second", "pure"), 3e5, at_least=True
    ),
    "bytes a key": _Goal(("fold", "kgroup", "bytes a key"), 1_000, at_least=False),
    "start-up, in process, s": _Goal(
        ("start-up", "in process", "window", "seconds"), 3.0, at_least=False
    ),
    "start-up, Kafka, s": _Goal(("start-up", "Kafka", "window", "seconds"), 3.0, at_least=False),
    "claim latency, ms": _Goal(("claim latency", "p50 ms"), 50.0, at_least=False),
}

GOALS: Final = {
    name: f"{'at least' if goal.at_least else 'below'} {goal.bound:,.0f}"
    for name, goal in _GOALS.items()
}
"""What is asked for, in words."""


def goals(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return name -> figure and whether it reaches its goal, for all that was measured."""
    return dict(_judged(document))


def _judged(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, goal in _GOALS.items():
        figure: Any = document
        for step in goal.path:
            figure = None if figure is None else figure.get(step)
        if figure is not None:
            reached = figure >= goal.bound if goal.at_least else figure < goal.bound
            yield name, {"figure": figure, "goal": GOALS[name], "reached": reached}
