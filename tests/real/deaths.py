"""What a death at each line of the diagrams repeats and loses: the rows of the page on semantics.

Decides: the lines. Ten records are stored in one batch, and handed out five at a time, except where
the clock commits: there in one batch, so that the clock has nothing to commit before. The next
process is given an eleventh record, so that it begins with one whatever was committed.
Never: kills; `handling` does.
"""

from collections.abc import Sequence
from typing import Any, Final

from kgroup.values import dataclass

RECORDS: Final = 10


@dataclass(frozen=True, slots=True)
class Death:
    """A process dies right behind one line.

    Args:
        name: of the semantics, for `semantics_of`.
        line: number in the diagram.
        word: what the process writes down there.
        at: offset that it writes beside it.
        goes_on: offset of the first record that the next process handles.
        repeated: records that both have handled to the end; for a store those that count twice.
        lost: records that neither has handled to the end.
        skipped: records that the next process skips, for the store has them.
    """

    name: str
    line: int
    word: str
    at: int
    goes_on: int
    repeated: Sequence[int] = ()
    lost: Sequence[int] = ()
    skipped: Sequence[int] = ()

    def __str__(self) -> str:
        return f"{self.name}-dies_at_{self.line}_{self.word}"

    @property
    def options(self) -> dict[str, Any]:
        """Options of the consumer that dies."""
        if self.name != "auto":
            return {"enable_auto_commit": False, "max_poll_records": 5}
        by_the_clock = 0.5 if self.word in ("asked", "answered") else 300.0
        return {"enable_auto_commit": True, "auto_commit_interval": by_the_clock}


HEADINGS: Final = {
    "auto": "AutoCommit()",
    "record": "AtLeastOnce()",
    "batch": "AtLeastOnce(Per.BATCH)",
    "parallel": "InParallel()",
    "most": "AtMostOnce()",
    "most_batch": "AtMostOnce(Per.BATCH)",
    "store": "EffectivelyOnce(store)",
    "store_batch": "EffectivelyOnce(store, Per.BATCH)",
}
"""Name -> the heading of its part of the page."""

DEATHS: Final = (
    Death("auto", 1, "begin", 7, 0, repeated=range(7)),
    Death("auto", 2, "end", 7, 0, repeated=range(8)),
    Death("auto", 3, "asked", 7, 0, repeated=range(8)),
    Death("auto", 4, "answered", 7, 8),
    Death("record", 1, "begin", 7, 7),
    Death("record", 2, "end", 7, 7, repeated=[7]),
    Death("record", 3, "asked", 7, 7, repeated=[7]),
    Death("record", 4, "answered", 7, 8),
    Death("batch", 1, "begin", 7, 5, repeated=range(5, 7)),
    Death("batch", 2, "end", 7, 5, repeated=range(5, 8)),
    Death("batch", 3, "asked", 9, 5, repeated=range(5, 10)),
    Death("batch", 4, "answered", 9, 10),
    Death("parallel", 1, "begin", 7, 7),
    Death("parallel", 2, "end", 7, 7, repeated=[7]),
    Death("parallel", 3, "asked", 9, 7, repeated=[7]),
    Death("parallel", 4, "answered", 9, 10),
    Death("most", 1, "asked", 7, 7),
    Death("most", 2, "answered", 7, 8, lost=[7]),
    Death("most", 3, "begin", 7, 8, lost=[7]),
    Death("most", 4, "end", 7, 8),
    Death("most_batch", 1, "asked", 9, 5),
    Death("most_batch", 2, "answered", 9, 10, lost=range(5, 10)),
    Death("most_batch", 3, "begin", 7, 10, lost=range(7, 10)),
    Death("most_batch", 4, "end", 7, 10, lost=range(8, 10)),
    Death("store", 1, "begin", 7, 7, skipped=range(5, 7)),
    Death("store", 2, "end", 7, 7, skipped=range(5, 7)),
    Death("store", 3, "stored", 7, 8, skipped=range(5, 8)),
    Death("store", 4, "asked", 9, 10, skipped=range(5, 10)),
    Death("store", 5, "answered", 9, 10),
    Death("store_batch", 1, "begin", 7, 5),
    Death("store_batch", 2, "end", 7, 5),
    Death("store_batch", 3, "stored", 5, 10, skipped=range(5, 10)),
    Death("store_batch", 4, "asked", 9, 10, skipped=range(5, 10)),
    Death("store_batch", 5, "answered", 9, 10),
)

SHORT: Final = frozenset(
    {("auto", 2), ("record", 2), ("batch", 2), ("parallel", 2), ("most", 3), ("store", 2)}
)
"""Those that `make test` runs."""
