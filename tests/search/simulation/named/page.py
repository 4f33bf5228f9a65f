"""The page that tells which symptom is provoked by which schedule, or tested elsewhere."""

from collections.abc import Iterator
from typing import Final

from tests.search.simulation.named.catalogue import CATALOGUE, Symptom
from tests.search.simulation.named.schedules import SCHEDULES

_HEAD: Final = """# Symptoms of other clients, as schedules

This is what users of other clients reported, and the classes of bugs clients really had.
Where the order of things is what matters, a named schedule provokes it at exact instants in a
[simulated group](search.md), shows by the journal that it came about, and judges it by every
promise a run is judged by, and by what must hold in it besides. Each is tried in several kinds of
groups (eager, cooperative, static; old and new coordinators; latencies; through bytes) and a few
round trips beside its instants, and each is shown to fail with a planted fault.
In brackets are the promises that planted faults break in this very schedule, which a test proves;
"its own" is for a fault that only what must hold besides has shown.
The others are tested where the last column says.

| Symptom | Reported | Schedules (promises) | Tested elsewhere |
|---|---|---|---|
"""


def symptoms_page() -> str:
    """Return the page."""
    return _HEAD + "".join(f"| {' | '.join(_row(each))} |\n" for each in CATALOGUE)


def _row(symptom: Symptom) -> Iterator[str]:
    number = symptom.key.removeprefix("symptom ").removeprefix("class: ")
    yield f"{number}: {symptom.seen}"
    yield ", ".join(symptom.sources)
    schedules = [each for each in SCHEDULES if symptom.key in each.of]
    yield "<br>".join(
        f"{each.name} ({', '.join(each.promises) or 'its own'})" for each in schedules
    )
    yield "<br>".join(_link(each) for each in symptom.elsewhere)


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{path}](../../tests/{path}) `{name}`"


if __name__ == "__main__":
    pass
