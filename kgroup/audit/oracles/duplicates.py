"""D5 and D6: how much may be delivered twice.

Decides: which repeated offsets a handover explains and which it does not.
Never: judges a repetition inside one claim; D2 does.

D5: after a clean handover nothing is repeated: what the former owner was done with, and gave up by
    revocation or close without a failed commit, is not delivered again; unless an administrator
    had its commit deleted before the next owner read it, or the former owner's application
    sought back: what lies behind is to be read again.
D6: after a crash only what follows the last acknowledged commit is repeated.
"""

from typing import ClassVar

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import Entry, Event
from kgroup.journal.periods import Periods
from kgroup.journal.repeats import Repeat, Repeats


class BoundedDuplicates:
    """D5 and D6: repetitions over handovers.

    Args:
        clean_handover: judge D5; False when the application commits by hand, or not at all.
        periods: a follower shared with other oracles of the same history.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = Repeats.KINDS

    ONE_PARTITION: ClassVar[bool] = True
    __slots__ = ("_clean", "_repeats")

    def __init__(self, *, clean_handover: bool = True, periods: Periods | None = None) -> None:
        self._clean = clean_handover
        self._repeats = Repeats(periods)

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        repeat = self._repeats.observe(entry)
        if repeat is None or repeat.sought:
            return ()
        found: list[Violation] = []
        if repeat.below:
            found.append(_below(repeat))
        if repeat.settled and self._clean:
            found.append(_settled(repeat))
        return tuple(found)

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()


def _below(repeat: Repeat) -> Violation:
    assert repeat.committed is not None
    text = (
        f"{repeat.tp}: {repeat.entry.source} was given {repeat.below} records again that lie below "
        f"{repeat.floor}, the last acknowledged commit before it"
    )
    return Violation("D6", text, (repeat.committed, repeat.entry), repeat.tp)


def _settled(repeat: Repeat) -> Violation:
    assert repeat.before is not None
    assert repeat.before.ended is not None
    text = (
        f"{repeat.tp}: {repeat.entry.source} was given {repeat.settled} records again that "
        f"{repeat.before.source} was done with before it handed the partition over"
    )
    return Violation("D5", text, (repeat.before.ended, repeat.entry), repeat.tp)
