"""Two things measured, next to each other: the same cell of two results, or two clients of one.

Decides: that results of different machines are not compared unless somebody insists, that a cell
which was wrong or absent is compared with nothing, and which of "less", "more" and "undecided" may
be said.
Never: calls anything better or worse that too few runs were made of.
"""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, Final

from kgroup.bench.cells import EVENTS
from kgroup.bench.figures import UNITS
from kgroup.bench.result import series
from kgroup.bench.statistics import Difference, Verdict, difference
from kgroup.errors import ArgumentError
from kgroup.values import dataclass

Document = Mapping[str, Any]
_MACHINE: Final = ("processor", "machine", "cores")
MORE_IS_BETTER: Final = frozenset({"records_per_s", "mb_per_s"})
JUDGED: Final = frozenset(UNITS) - {"moved"}
"""Figures of which less (or more) is better at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of one cell, and another one's.

    Args:
        cell: name of the cell.
        other: name of the one it is compared with.
        figure: which.
        ours: median of the cell.
        theirs: median of the other.
        difference: what may be said, None when the other's median is 0.
    """

    cell: str
    other: str
    figure: str
    ours: float
    theirs: float
    difference: Difference | None

    @property
    def better(self) -> bool | None:
        """Whether ours is better, None when that cannot be said."""
        found = self.difference
        if found is None or found.verdict is Verdict.UNDECIDED:
            return None
        return (found.verdict is Verdict.MORE) is (self.figure in MORE_IS_BETTER)


def check_machines(one: Document, other: Document) -> None:
    """Refuse to compare results of different machines.

    Raises:
        ArgumentError: it names what differs and the way out.
    """
    told = one["environment"], other["environment"]
    for name in _MACHINE:
        ours, theirs = (each.get(name) for each in told)
        if ours != theirs:
            expected = f"the same {name} ({ours}); --other-machine compares all the same"
            raise ArgumentError("other result", f"{name} {theirs}", expected)


def two_results(one: Document, other: Document) -> list[Row]:
    """Return how each cell of a result compares with the cell of the same name of another.

    Args:
        one: the newer one, in whose terms it is said.
        other: what it is compared with.
    """
    known = {cell["name"]: cell for cell in other["cells"]}
    return [
        row
        for cell in one["cells"]
        if cell["name"] in known
        for row in _rows(cell, known[cell["name"]], _members(one), _members(other))
    ]


def two_clients(document: Document, ours: str, theirs: str) -> list[Row]:
    """Return how each cell of a client compares with another's of one job, data and assignor.

    Args:
        document: results of one run, in which the two took turns.
        ours: name of an adapter.
        theirs: name of another.
    """
    members = _members(document)
    return [
        row
        for cell in document["cells"]
        if cell["client"] == ours
        for other in document["cells"]
        if other["client"] == theirs and _place(other) == _place(cell)
        for row in _rows(cell, other, members, members)
    ]


def _rows(cell: Document, other: Document, *members: int) -> Iterator[Row]:
    mine, its = series(cell, members[0]), series(other, members[1])
    for figure in (each for each in mine if each in its and each in JUDGED):
        ours, theirs = mine[figure], its[figure]
        yield Row(
            cell=cell["name"],
            other=other["name"],
            figure=figure,
            ours=median(ours),
            theirs=median(theirs),
            difference=difference(ours, theirs),
        )


def _place(cell: Document) -> tuple[object, ...]:
    # Partitions that move by another assignor are another thing, not a faster or slower one.
    assignor = cell["level"] if cell["job"] in {*EVENTS, "assign"} else ""
    loop = cell["loop"] or "asyncio"
    return cell["job"], cell["data"], loop, cell["pure"], cell.get("size"), assignor


def _members(document: Document) -> int:
    return int(document["plan"]["members"])
