"""D5 and D6: how much may be delivered twice.

Decides: which repeated offsets a handover explains and which it does not.
Never: forgives a repetition inside one claim (D2 does not either).

D5: after a clean handover nothing is repeated: what the former owner was done with, and gave up by
    revocation or close without a failed commit, is not delivered again.
D6: after a crash only what follows the last acknowledged commit is repeated. A commit whose
    answer the dead process never logged makes this bound more generous, never less.
A claim whose position was moved by a seek repeats on purpose and is not judged.
"""

from dataclasses import dataclass, replace

from kgroup.journal.events import (
    CommitStage,
    CommitStep,
    Delivered,
    Done,
    Entry,
    PositionMove,
    PositionMoved,
)
from kgroup.journal.intervals import Intervals, total
from kgroup.journal.oracles.violation import Violation
from kgroup.journal.periods import Ending, Period, PeriodKey, Periods
from kgroup.types import TopicPartition

__all__ = ["BoundedDuplicates"]


@dataclass(frozen=True, slots=True)
class _Handover:
    """What one claim may rely on from the owners before it, and leaves to the next.

    Args:
        floor: last acknowledged commit when it began, None without one.
        committed: the entry of that commit.
        before: the claim before it, None for the first.
        done: next offset that is not done under it, None while nothing is.
        failed: whether a commit under it was refused or got no answer, or is still awaited.
        sought: whether its position was moved by the application.
    """

    floor: int | None
    committed: Entry | None
    before: PeriodKey | None
    done: int | None = None
    failed: bool = False
    sought: bool = False


class BoundedDuplicates:
    """D5 and D6: repetitions over handovers.

    Args:
        clean_handover: judge D5; False when the application commits by hand, or not at all.
    """

    __slots__ = ("_accepted", "_claims", "_clean", "_delivered", "_latest", "_periods")

    def __init__(self, *, clean_handover: bool = True) -> None:
        self._clean = clean_handover
        self._periods = Periods()
        self._claims: dict[PeriodKey, _Handover] = {}
        self._latest: dict[TopicPartition, PeriodKey] = {}
        self._accepted: dict[TopicPartition, tuple[int, Entry]] = {}
        self._delivered: dict[TopicPartition, Intervals] = {}

    def observe(self, entry: Entry) -> tuple[Violation, ...]:
        """Take one entry."""
        for period in self._periods.observe(entry):
            if period.key not in self._claims and period.began is not None:
                self._begin(period)
        match entry.event:
            case Delivered() as event:
                return self._deliver(entry, event)
            case Done(claim=claim, next_offset=offset):
                self._change((entry.source, claim), done=offset)
            case PositionMoved(claim=claim, move=PositionMove.SEEK):
                self._change((entry.source, claim), sought=True)
            case CommitStep() as step:
                self._commit(entry, step)
            case _:
                pass
        return ()

    def finish(self) -> tuple[Violation, ...]:
        """Say nothing more."""
        return ()

    def _begin(self, period: Period) -> None:
        tp = period.claim.tp
        floor, committed = self._accepted.get(tp, (None, None))
        self._claims[period.key] = _Handover(floor, committed, self._latest.get(tp))
        self._latest[tp] = period.key

    def _change(
        self, key: PeriodKey, *, done: int | None = None, sought: bool = False, failed: bool = False
    ) -> None:
        known = self._claims.get(key)
        if known is not None:
            self._claims[key] = replace(
                known,
                done=known.done if done is None else done,
                sought=known.sought or sought,
                failed=known.failed or failed,
            )

    def _commit(self, entry: Entry, step: CommitStep) -> None:
        if step.stage is CommitStage.OK:
            self._accepted[step.claim.tp] = (step.offset, entry)
        elif step.stage is not CommitStage.REQUESTED:
            self._change((entry.source, step.claim), failed=True)

    def _deliver(self, entry: Entry, event: Delivered) -> tuple[Violation, ...]:
        tp, first, end = event.claim.tp, event.first, event.last + 1
        repeated = self._delivered.setdefault(tp, Intervals()).add(first, end)
        here = self._claims.get((entry.source, event.claim))
        if not repeated or here is None or here.sought:
            return ()
        floor = first if here.floor is None else here.floor
        below = total((a, min(b, floor)) for a, b in repeated if a < floor)
        if below and here.committed is not None:
            text = (
                f"{tp}: {entry.source} was given {below} records again that lie below {floor}, "
                "the last acknowledged commit before it"
            )
            return (Violation("D6", text, (here.committed, entry), tp),)
        return self._after_clean_end(entry, tp, here, repeated)

    def _after_clean_end(
        self,
        entry: Entry,
        tp: TopicPartition,
        here: _Handover,
        repeated: tuple[tuple[int, int], ...],
    ) -> tuple[Violation, ...]:
        if not self._clean or here.before is None:
            return ()
        former, period = self._claims[here.before], self._periods.get(*here.before)
        if former.done is None or former.failed or period is None or period.ended is None:
            return ()
        if period.ending not in (Ending.REVOKED, Ending.STOPPED):
            return ()
        done = former.done
        again = total((a, min(b, done)) for a, b in repeated if a < done)
        if not again:
            return ()
        text = (
            f"{tp}: {entry.source} was given {again} records again that {period.source} was done "
            f"with (up to {done}) before it handed the partition over"
        )
        return (Violation("D5", text, (period.ended, entry), tp),)
