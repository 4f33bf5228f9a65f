"""All sittings of each kind, added up.

Decides: which sums a reader is told: how many, by which commits, what was found, what was met.
Never: leaves out a kind with failures.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.search.campaign.ledger import Ledger, Sitting
from tests.search.simulation.campaign_ledger import shortened
from tests.search.simulation.coverage import CELLS, ENOUGH, CellClass, cell_named, classify

__all__ = ["Sum", "legal_cells", "lines", "rare_cells", "sums"]


@dataclass(frozen=True, slots=True)
class Sum:
    """The sittings of one kind together.

    Args:
        kind: level, mode and backend, or the name of a target.
        sittings: how many.
        count: of groups or inputs: all from the first on.
        seconds: that they took.
        broken: what was broken or found -> how often.
        commits: by which they were made, the latest last; with a `+` where it was changed since.
        last_at: day of the latest.
    """

    kind: str
    sittings: int
    count: int
    seconds: float
    broken: Counter[str]
    commits: tuple[str, ...]
    last_at: str

    @property
    def per_second(self) -> float:
        """Groups or inputs in a second of real time."""
        return self.count / self.seconds if self.seconds else 0.0


def sums(ledger: Ledger) -> list[Sum]:
    """Return the sums of each kind, levels first."""
    kinds = dict.fromkeys(sitting["kind"] for sitting in ledger.sittings())
    return [_sum(kind, ledger.sittings(kind)) for kind in sorted(kinds, key=_order)]


def _order(kind: str) -> tuple[bool, int, str]:
    return kind.startswith("T"), len(kind.split(maxsplit=1)[0]), kind


def _sum(kind: str, sittings: Sequence[Sitting]) -> Sum:
    broken: Counter[str] = Counter()
    for sitting in sittings:
        broken.update(sitting.get("broken") or sitting.get("findings") or {})
        broken.update({"not the same": len(sitting.get("not_the_same", ()))})
    commits = dict.fromkeys(shortened(sitting["commit"]) for sitting in sittings)
    return Sum(
        kind,
        len(sittings),
        sum(sitting["count"] for sitting in sittings),
        sum(sitting["seconds"] for sitting in sittings),
        +broken,
        tuple(commits),
        max(sitting["at"] for sitting in sittings)[:10],
    )


def rare_cells(ledger: Ledger, level: str) -> dict[str, int]:
    """Return the legal cells that a level has met less than ten times, each with how often."""
    met = ledger.cells(level)
    return {name: met.get(name, 0) for name in legal_cells() if met.get(name, 0) < ENOUGH}


def legal_cells() -> list[str]:
    """Return the names of all legal cells."""
    return [
        cell_named(number)
        for number, cell in enumerate(CELLS)
        if classify(*cell).kind is CellClass.LEGAL
    ]


def lines(ledger: Ledger) -> Iterator[str]:
    """Yield what was done so far, for a terminal."""
    for each in sums(ledger):
        broken = ", ".join(f"{name} {count}" for name, count in each.broken.most_common())
        yield (
            f"{each.kind}: {each.count:,} in {each.sittings} sitting(s), {each.per_second:,.1f}/s, "
            f"broken: {broken or 'nothing'}"
        )
    for level in ("A", "A'"):
        if ledger.cells(level):
            rare = rare_cells(ledger, level)
            named = ", ".join(f"{name} {count}" for name, count in rare.items())
            yield f"legal cells met less than {ENOUGH} times at {level}: {named or 'none'}"
