"""Which rows of the table of states fired in whole consumers, as the log of each member tells.

Decides: whose row it is, by the process that the task belongs to.
Never: looks into a consumer: a row is the second value of what `kgroup.membership` logs about it.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kgroup.machine.rows import Row
from kgroup.membership.step import MemberRow
from kgroup.testing.simulation.live.standstill import PROCESS

__all__ = ["Rows"]

_LOG: Final = logging.getLogger("kgroup.membership")


class Rows(logging.Handler):
    """Counts rows while it is `listening`.

    `fired` has how often each did, `pairs` those that fired one after the other in one process.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.fired: Counter[MemberRow] = Counter()
        self.pairs: Counter[tuple[MemberRow, MemberRow]] = Counter()
        self._last: dict[str | None, MemberRow] = {}

    def handle(self, record: logging.LogRecord) -> bool:
        """Count one row; one thread runs all members, so nothing is locked."""
        told = record.args
        if isinstance(told, tuple) and len(told) > 1 and isinstance(told[1], Row):
            row: MemberRow = told[1]
            process = PROCESS.get()
            self.fired[row] += 1
            if process in self._last:
                self.pairs[self._last[process], row] += 1
            self._last[process] = row
        return True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to all members of this Python process; nobody else hears of their rows."""
        before = _LOG.level, _LOG.propagate
        _LOG.setLevel(logging.DEBUG)
        _LOG.propagate = False
        _LOG.addHandler(self)
        try:
            yield
        finally:
            _LOG.removeHandler(self)
            _LOG.setLevel(before[0])
            _LOG.propagate = before[1]
