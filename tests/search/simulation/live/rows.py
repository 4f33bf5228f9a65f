"""Which rows of the table of states fired in whole consumers, as the log of each member tells.

Decides: what counts as a row.
Never: looks into a consumer: a row is the second value of what `kgroup.membership` logs about it; a
trigger that had no row is the third, its state the second.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kgroup.machine.rows import Row
from kgroup.membership.step import MemberRow
from kgroup.membership.triggers import Trigger
from kgroup.types import MemberState

__all__ = ["Rows"]

_LOG: Final = logging.getLogger("kgroup.membership")


class Rows(logging.Handler):
    """Counts rows while it is `listening`.

    `fired` has how often each fired; `ignored` has the cells in which a trigger found no row.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.fired: Counter[MemberRow] = Counter()
        self.ignored: Counter[tuple[MemberState, Trigger]] = Counter()

    def handle(self, record: logging.LogRecord) -> bool:
        """Count one row, or one cell; one thread runs all members, so nothing is locked."""
        match record.args:
            case (_, Row() as row, *_):
                self.fired[row] += 1
            case (_, MemberState() as state, Trigger() as trigger):
                self.ignored[state, trigger] += 1
            case _:
                pass
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
