"""Gold, made anew for the log partitions that changed: with each batch, or beside the batches.

Decides: when gold is made. It is made of all that a log partition ever held, so it takes longer
from day to day; beside the batches they only share cores with it, and it rests at least as long as
it took.
Never: says that a log partition is done that changed while its gold was made.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Final

from kgroup.spark.coordination import declared as d
from kgroup.spark.coordination import tables as t
from kgroup.spark.coordination.store import Store
from kgroup.spark.table import functions

OFFSETS: Final = "offsets"
CLAIMS: Final = "claims"
"""Kinds of logs: before the number of a log partition."""
SMALL: Final = 100_000
"""So few rows are written by this process: each job of Spark's costs as much as many of them."""


class Gilding:
    """Makes gold.

    Args:
        store: where the tables are.
        clock: seconds since the epoch.
        every: seconds from one time to the next, at least; None to make it with each batch.
    """

    def __init__(self, store: Store, clock: Callable[[], float], every: float | None) -> None:
        self._store = store
        self._clock = clock
        self._every = every
        self._due = -math.inf
        self._beside = ThreadPoolExecutor(1, "kgroup gold")
        self._making: Future[float] | None = None
        self._parts: set[str] = set()
        self._changed: set[str] = set()

    def changed(self, parts: Iterable[str]) -> None:
        """Note log partitions that changed; what is being made of them is not the last."""
        self._changed |= set(parts)

    def go_on(
        self, stale: Collection[str], batch: int, names: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Make gold if it is time; return the log partitions of which it is not made yet.

        Args:
            stale: log partitions of which it was not made.
            batch: the last that there is.
            names: id of a topic -> its name.
        """
        if self._every is None:
            self._make(stale, batch, names)
            return ()
        left = set(stale)
        if self._making is not None and self._making.done():
            left -= self._done(self._every)
        if left and self._making is None and self._clock() >= self._due:
            self._parts, self._changed = set(left), set()
            work = partial(self._make, set(left), batch, dict(names))
            self._making = self._beside.submit(work)
        return tuple(sorted(left))

    def settle(self, stale: Collection[str], batch: int, names: Mapping[str, str]) -> None:
        """Make all gold that is not made yet; what is being made is waited for."""
        left = set(stale)
        if self._making is not None:
            wait([self._making])
            if self._making.exception() is None:
                left -= self._done(0)
            self._making = None  # Ctrl-C ends what Spark is at, in all threads
        self._make(left, batch, names)

    def _done(self, every: float) -> set[str]:
        """Return the log partitions of which gold was made, and has not changed since."""
        assert self._making is not None
        making, self._making = self._making, None
        took = making.result()
        self._due = self._clock() + max(every, took)
        return self._parts - self._changed

    def _make(self, parts: Iterable[str], batch: int, names: Mapping[str, str]) -> float:
        """Make gold of some log partitions, as it is after a batch; return how long it took."""
        f, began = functions(), self._clock()
        numbers: dict[str, list[int]] = {OFFSETS: [], CLAIMS: []}
        for part in parts:
            kind, _, number = part.rpartition("-")
            numbers[kind].append(int(number))
        if numbers[OFFSETS]:
            here = f.col("log_partition").isin(*numbers[OFFSETS])
            silver = (d.GENERATION, d.MEMBER, d.ASSIGNMENT, d.COMMIT_LOG)
            read = {each.name: self._store.read(each, batch).where(here) for each in silver}
            read[d.LOG_END.name] = self._store.read(d.LOG_END, batch)
            self._replace(t.groups_gold(read, names), OFFSETS)
        if numbers[CLAIMS]:
            raw = self._store.read(d.RAW, batch)
            raw = raw.where(f.col("log_partition").isin(*numbers[CLAIMS]))
            self._replace(t.claims_gold({d.RAW.name: raw}), CLAIMS)
        return self._clock() - began

    def _replace(self, rows: t.Frame, kind: str) -> None:
        rows = rows.persist()
        try:
            counts = t.counts_of(rows)
            small = sum(counts.values()) <= SMALL
            whole: Any = rows.toArrow() if small else None
            for table in d.GOLD:
                if counts.get(table.name):
                    part = t.part_of(whole, table) if small else t.part(rows, table)
                    self._store.replace(table, part, kind)
        finally:
            rows.unpersist()
