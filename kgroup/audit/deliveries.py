"""The account of each partition: what was delivered, lost, repeated and out of order.

Decides: the numbers of delivery, and the entries that prove each.
Never: judges ownership; holds intervals and claims, never records.
"""

from collections.abc import Iterator

from kgroup.audit.findings import Finding
from kgroup.audit.verdict import ProblemKind, Truth
from kgroup.journal import (
    CommitStage,
    CommitStep,
    Delivered,
    Entry,
    OffsetRead,
    PositionMove,
    PositionMoved,
)
from kgroup.journal.periods import Interval, Intervals, PeriodKey, total
from kgroup.journal.repeats import Repeat, Repeats
from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class _Jump:
    """Offsets a claim went over, and the entries before and after."""

    first: int
    end: int
    before: Entry
    after: Entry


class Account:
    """The running numbers of one partition; `None` where the log has not said yet."""

    __slots__ = (
        "beyond",
        "committed",
        "duplicated",
        "end",
        "jumps",
        "last",
        "lost",
        "out_of_order",
        "records",
        "short",
        "skipped",
        "start",
    )

    def __init__(self) -> None:
        self.start: int | None = None
        self.end: int | None = None
        self.committed: int | None = None
        self.records = 0
        self.lost = 0
        self.short = 0
        self.duplicated = 0
        self.beyond = 0
        self.out_of_order = 0
        self.jumps: list[_Jump] = []
        self.skipped = Intervals()
        self.last: Entry | None = None


class Deliveries:
    """Keeps the accounts of all partitions; show it every entry, in order of time.

    Args:
        truth: what is known from elsewhere.
        clean_handover: count repetitions after a clean handover as wrong.
    """

    def __init__(self, truth: Truth, *, clean_handover: bool) -> None:
        self._truth = truth
        self._clean = clean_handover
        self._repeats = Repeats()
        self._positions: dict[PeriodKey, tuple[int, Entry]] = {}
        self.accounts: dict[TopicPartition, Account] = {}

    def observe(self, entry: Entry) -> Iterator[Finding]:
        """Take one entry."""
        repeat = self._repeats.observe(entry)
        match entry.event:
            case OffsetRead(claim=claim, offset=int(offset)):
                account = self._account(claim.tp)
                account.start = offset if account.start is None else account.start
                self._positions[entry.source, claim] = (offset, entry)
            case PositionMoved() as event:
                self._move(entry, event)
            case CommitStep(stage=CommitStage.OK, claim=claim, offset=offset):
                self._account(claim.tp).committed = offset
            case Delivered() as event:
                yield from self._deliver(entry, event, repeat)
            case _:
                pass

    def finish(self) -> Iterator[Finding]:
        """Compare what was delivered with what had to be."""
        for tp in self._truth.bounds:
            self._account(tp)
        for tp, account in sorted(self.accounts.items()):
            yield from self._close(tp, account)

    def _account(self, tp: TopicPartition) -> Account:
        return self.accounts.setdefault(tp, Account())

    def _move(self, entry: Entry, event: PositionMoved) -> None:
        account = self._account(event.claim.tp)
        if account.start is None and event.move is PositionMove.RESET:
            account.start = event.offset
        here = self._positions.get((entry.source, event.claim))
        if here is not None:
            account.skipped.add(here[0], event.offset)
        self._positions[entry.source, event.claim] = (event.offset, entry)

    def _deliver(self, entry: Entry, event: Delivered, repeat: Repeat | None) -> Iterator[Finding]:
        claim, span = event.claim, event.last - event.first + 1
        account = self._account(claim.tp)
        here = self._positions.get((entry.source, claim))
        self._positions[entry.source, claim] = (event.last + 1, entry)
        account.records += event.count
        account.last = entry
        account.end = max(event.last + 1, account.end or 0)
        if account.start is None and claim.tp not in self._truth.bounds:
            account.start = event.first
        if here is not None and event.first > here[0]:
            account.jumps.append(_Jump(here[0], event.first, here[1], entry))
        if here is not None and event.first < here[0]:
            late = min(event.last + 1, here[0]) - event.first - (repeat.count if repeat else 0)
            yield from self._late(entry, here, account, late)
        if repeat is not None:
            yield from self._again(account, repeat)
        yield from self._inside(entry, event, account, span)

    def _late(
        self, entry: Entry, here: tuple[int, Entry], account: Account, late: int
    ) -> Iterator[Finding]:
        """Report offsets that come after later ones of their claim, and are not repetitions."""
        assert isinstance(entry.event, Delivered)
        if late > 0:
            account.out_of_order += late
            text = f"{late} records from {entry.event.first} on were delivered after {here[0] - 1}"
            yield Finding(
                ProblemKind.OUT_OF_ORDER, text, (here[1], entry), entry.event.claim.tp, count=late
            )

    def _again(self, account: Account, repeat: Repeat) -> Iterator[Finding]:
        account.duplicated += repeat.count
        account.beyond += repeat.below
        if repeat.sought:
            return
        who = repeat.entry.source
        if repeat.inside:
            text = f"{repeat.inside} records were delivered to {who} twice under one claim"
            yield self._repeated(repeat, text, repeat.inside)
        if repeat.below:
            text = (
                f"{repeat.below} records delivered to {who} again lie below {repeat.floor}, the "
                "last acknowledged commit before the takeover"
            )
            yield self._repeated(repeat, text, repeat.below, repeat.committed)
        if repeat.settled and self._clean and repeat.before is not None:
            text = (
                f"{repeat.settled} records delivered to {who} again were done at "
                f"{repeat.before.source} before it handed the partition over"
            )
            yield self._repeated(repeat, text, repeat.settled, repeat.before.ended)

    @staticmethod
    def _repeated(repeat: Repeat, text: str, count: int, proof: Entry | None = None) -> Finding:
        entries = (repeat.entry,) if proof is None else (proof, repeat.entry)
        return Finding(ProblemKind.DUPLICATED, text, entries, repeat.tp, count=count)

    def _inside(
        self, entry: Entry, event: Delivered, account: Account, span: int
    ) -> Iterator[Finding]:
        """Report a delivery whose count does not fit its offsets."""
        tp, off = event.claim.tp, event.count - span
        text = f"{event.count} records delivered for the {span} offsets {event.first}-{event.last}"
        if off > 0:
            account.duplicated += off
            yield Finding(ProblemKind.DUPLICATED, text, (entry,), tp, count=off)
        elif off < 0 and tp.topic not in self._truth.sparse and self._truth.produced is None:
            account.short -= off
            yield Finding(ProblemKind.LOST, text, (entry,), tp, count=-off)

    def _close(self, tp: TopicPartition, account: Account) -> Iterator[Finding]:
        low, high = self._truth.bounds.get(tp, (None, None))
        if account.start is None:
            account.start = low or 0
        if high is None:
            high = max(account.end or 0, account.committed or 0, account.start)
        account.end = high
        gaps = self._gaps(tp, account, high)
        account.lost = total(gaps) + account.short
        yield from self._jumped(tp, account, gaps)
        if not gaps:
            return
        shown = ", ".join(f"{first}-{end - 1}" for first, end in gaps[:5])
        more = "" if len(gaps) <= 5 else f" and {len(gaps) - 5} more gaps"
        text = (
            f"{total(gaps)} of the offsets {account.start}-{high - 1} were never delivered: "
            f"{shown}{more}"
        )
        yield Finding(ProblemKind.LOST, text, _proof(account, gaps), tp, count=total(gaps))

    def _jumped(
        self, tp: TopicPartition, account: Account, gaps: tuple[Interval, ...]
    ) -> Iterator[Finding]:
        """Report offsets a claim went over although they are not lost: others delivered them."""
        if tp.topic in self._truth.sparse or self._truth.produced is not None:
            return
        for jump in account.jumps:
            count = jump.end - jump.first
            if not any(jump.first < end and first < jump.end for first, end in gaps):
                text = f"{count} offsets from {jump.first} on were skipped by a claim"
                proofs = (jump.before, jump.after)
                yield Finding(ProblemKind.OUT_OF_ORDER, text, proofs, tp, count=count)

    def _gaps(self, tp: TopicPartition, account: Account, end: int) -> tuple[Interval, ...]:
        produced = self._truth.produced
        if produced is not None:
            asked = tuple(produced.get(tp, ()))
        elif tp.topic in self._truth.sparse:
            asked = ()
        else:
            asked = ((account.start or 0, end),)
        delivered = self._repeats.delivered(tp)
        return tuple(
            gap
            for low, high in asked
            for first, last in delivered.missing(max(low, account.start or 0), min(high, end))
            for gap in account.skipped.missing(first, last)
        )


def _proof(account: Account, gaps: tuple[Interval, ...]) -> tuple[Entry, ...]:
    """Return the entries around the gaps; the last delivery when the gap is at the end."""
    around = tuple(
        entry
        for jump in account.jumps
        if any(jump.first < end and first < jump.end for first, end in gaps)
        for entry in (jump.before, jump.after)
    )
    return around or (() if account.last is None else (account.last,))
