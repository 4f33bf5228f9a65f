"""The audit: event logs and the broker's truth go in, a verdict comes out.

Decides: which oracles judge a finished run, and what an unreadable or incomplete log means.
Never: asks a broker, keeps records, or trusts a member's opinion of itself.

One pass over the merged entries; memory is bounded by members, partitions and periods.
A log with a hole proves nothing, so an unreadable line or a missing number is a problem; a line
that a killed process did not finish is not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.audit.deliveries import Deliveries
from kgroup.audit.findings import Finding, Findings, find_logs, merge_logs
from kgroup.audit.oracles import DeliveryGate, OneOwnerInTime, Oracle, Violation, Watch
from kgroup.audit.oracles.watch import looks_at_one_partition
from kgroup.audit.shares import Across, Share
from kgroup.audit.silence import Silences
from kgroup.audit.verdict import PartitionVerdict, ProblemKind, Truth, Verdict
from kgroup.journal import (
    BadLine,
    CommitStored,
    Delivered,
    Entry,
    FaultStep,
    MemberStarted,
    Phase,
    RoundStored,
    Source,
    UnknownEvent,
)
from kgroup.journal.periods import Period, PeriodKey, Periods
from kgroup.types import TopicPartition

_NOT_TOLD: Final = (
    "which names no group and does not tell where a claim begins to read; what lies before the "
    "first record is not seen to be lost"
)

_KINDS: Final[Mapping[str, ProblemKind]] = MappingProxyType(
    {
        "S6": ProblemKind.NOT_OWNED,
        "B3": ProblemKind.NOT_OWNED,
        "S2": ProblemKind.TWO_OWNERS,
    }
)


def audit(
    logs: Iterable[str | Path],
    truth: Truth | None = None,
    *,
    group: str | None = None,
    oracles: Sequence[Oracle] = (),
    clean_handover: bool = True,
) -> Verdict:
    """Judge a run by the logs of its members.

    Args:
        logs: paths and glob patterns of event logs.
        truth: the broker's end offsets and what else is known; without it a loss is only seen
            below the last commit and the last delivery.
        group: judge only members of this group; needed when the logs hold several.
        oracles: further oracles to show the run to, fresh ones; each violation is a problem.
        clean_handover: count records repeated after a clean handover as wrong; False when the
            application commits by hand, or not at all.

    Raises:
        FileNotFoundError: a path or a pattern names no file.
        OSError: a file cannot be read.
    """
    entries = merge_logs(find_logs(logs))
    return audit_entries(
        entries, truth, group=group, oracles=oracles, clean_handover=clean_handover
    )


def audit_entries(
    entries: Iterable[Entry | BadLine],
    truth: Truth | None = None,
    *,
    group: str | None = None,
    oracles: Sequence[Oracle] = (),
    clean_handover: bool = True,
) -> Verdict:
    """Judge a run by entries in order of time; see `audit`."""
    findings = Findings()
    alone, others = _divided(oracles)
    whole = _Whole(findings, others)
    parts = _Partitions(findings, truth or Truth(), alone, clean_handover=clean_handover)
    for item in entries:
        if isinstance(item, BadLine):
            whole.unreadable(item)
        elif group in (None, item.source.group) or isinstance(item.event, FaultStep):
            whole.observe(item)
            parts.observe(item)
    said, rows = whole.verdict(), tuple(parts.rows())
    if not any(row.records for row in rows):
        findings.nothing_delivered(said.entries, said.members)
    return replace(
        said,
        partitions=tuple(whole.row(row) for row in rows),
        problems=findings.problems(),
        broker_asked=parts.asked,
    )


def audit_across(entries: Iterable[Entry | BadLine], oracles: Sequence[Oracle] = ()) -> Across:
    """Judge what is not about one partition; see `audit` and `kgroup.audit.shares`."""
    findings = Findings()
    whole = _Whole(findings, _divided(oracles)[1])
    for item in entries:
        if isinstance(item, BadLine):
            whole.unreadable(item)
        else:
            whole.observe(item)
    said = whole.verdict()
    rows = tuple(whole.row(PartitionVerdict(tp=tp, start=0, end=0)) for tp in whole.seen)
    return Across(replace(said, partitions=rows, problems=findings.problems()), whole.in_order)


def audit_share(
    entries: Iterable[Entry | BadLine],
    share: Share,
    truth: Truth,
    *,
    oracles: Sequence[Oracle] = (),
    clean_handover: bool = True,
) -> Verdict:
    """Judge a share of the partitions by what is about them; see `audit`."""
    findings = Findings()
    bounds = {tp: span for tp, span in truth.bounds.items() if share.has(tp)}
    alone, _ = _divided(oracles)
    parts = _Partitions(
        findings, replace(truth, bounds=bounds), alone, clean_handover=clean_handover, share=share
    )
    for item in entries:
        if not isinstance(item, BadLine) and share.needs(item):
            parts.observe(item)
    rows = tuple(parts.rows())
    return Verdict(partitions=rows, problems=findings.problems(), broker_asked=parts.asked)


def _divided(oracles: Sequence[Oracle]) -> tuple[list[Oracle], list[Oracle]]:
    """Return those that look at one partition at a time, and the others."""
    alone = [oracle for oracle in oracles if looks_at_one_partition(type(oracle))]
    return alone, [oracle for oracle in oracles if oracle not in alone]


class _Watched:
    """Oracles that watch one run, and what they find."""

    def __init__(
        self, findings: Findings, oracles: Sequence[Oracle], share: Share | None = None
    ) -> None:
        self._findings = findings
        self._watch = Watch(oracles)
        self._share = share
        self.counts: dict[tuple[ProblemKind, TopicPartition | None], int] = {}

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        for violation in self._watch.observe(entry):
            self._violated(violation)

    def finish(self) -> None:
        """Take what only the end shows."""
        for violation in self._watch.finish():
            self._violated(violation)

    def _violated(self, violation: Violation) -> None:
        share, tp = self._share, violation.tp
        if share is not None and tp is not None and not share.has(tp):
            return
        kind = _KINDS.get(violation.rule, ProblemKind.BROKEN_PROMISE)
        last = violation.entries[-1].event if violation.entries else None
        records = kind is ProblemKind.NOT_OWNED and isinstance(last, Delivered)
        count = last.count if records and isinstance(last, Delivered) else 1
        key = (kind, tp)
        self.counts[key] = self.counts.get(key, 0) + count
        text, entries = violation.text, violation.entries
        self._findings.add(Finding(kind, text, entries, tp, violation.rule, count))


class _Partitions:
    """What is judged of each partition by itself."""

    def __init__(
        self,
        findings: Findings,
        truth: Truth,
        oracles: Sequence[Oracle],
        *,
        clean_handover: bool,
        share: Share | None = None,
    ) -> None:
        self.asked = bool(truth.bounds or truth.produced)
        self._findings = findings
        self._deliveries = Deliveries(truth, clean_handover=clean_handover)
        self._watched = _Watched(findings, (DeliveryGate(), OneOwnerInTime(), *oracles), share)

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        for finding in self._deliveries.observe(entry):
            self._findings.add(finding)
        self._watched.observe(entry)

    def rows(self) -> Iterator[PartitionVerdict]:
        """Close the accounts; return them without periods and silences."""
        self._watched.finish()
        for finding in self._deliveries.finish():
            self._findings.add(finding)
        counts = self._watched.counts
        for tp, account in sorted(self._deliveries.accounts.items()):
            yield PartitionVerdict(
                tp=tp,
                start=account.start or 0,
                end=account.end or 0,
                committed=account.committed,
                records=account.records,
                lost=account.lost,
                duplicated=account.duplicated,
                beyond_commit=account.beyond,
                out_of_order=account.out_of_order,
                not_owned=counts.get((ProblemKind.NOT_OWNED, tp), 0),
                two_owners=counts.get((ProblemKind.TWO_OWNERS, tp), 0),
            )


class _Whole:
    """What is judged of a run as a whole: its logs, its members, its rebalances."""

    def __init__(self, findings: Findings, oracles: Sequence[Oracle]) -> None:
        self.in_order = True
        self.seen: dict[TopicPartition, None] = {}
        self._silences = Silences()
        self._watched = _Watched(findings, oracles)
        self._periods = Periods()
        self._findings = findings
        self._notes: dict[str, None] = {}
        self._latest: dict[Source, Entry] = {}
        self._members: set[Source] = set()
        self._claims: dict[PeriodKey, Period] = {}
        self._killed: dict[str, Entry] = {}
        self._span: tuple[float, float] | None = None
        self._entries = 0

    def unreadable(self, line: BadLine) -> None:
        """Take a line that is no entry."""
        if line.cut:
            self._note(f"{line.where}: the line is cut off; its process was killed while writing")
        else:
            text = f"a line cannot be read: {line.reason}"
            self._findings.add(Finding(ProblemKind.UNREADABLE, text), lines=(line.where,))

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        event = entry.event
        self._number(entry)
        self._entries += 1
        first, last = self._span or (entry.at, entry.at)
        self.in_order &= last <= entry.at
        self._span = (first, entry.at)
        self._silences.observe(entry)
        self._watched.observe(entry)
        for period in self._periods.observe(entry):
            self._claims[period.key] = period
            self.seen[period.claim.tp] = None
        if isinstance(event, Delivered):
            self.seen[event.claim.tp] = None
        self._who(entry)
        self._latest[entry.source] = entry

    def _who(self, entry: Entry) -> None:
        match entry.event:
            case FaultStep(phase=phase, target=target):
                if phase is Phase.BEGIN:
                    self._killed[target] = entry
                return
            case CommitStored() | RoundStored():
                return
            case MemberStarted(client=str(client)):
                self._note(f"{entry.where}: a log of {client}, {_NOT_TOLD}")
            case UnknownEvent(kind=kind):
                self._note(f"{entry.where}: events {kind!r} are not known here")
            case _:
                pass
        self._members.add(entry.source)

    def verdict(self) -> Verdict:
        """Say all that is not about one partition, but no problems."""
        self._watched.finish()
        self._silent_ends()
        self._mixed()
        first, last = self._span or (0.0, 0.0)
        return Verdict(
            notes=tuple(self._notes),
            rebalances=self._silences.rebalances(),
            entries=self._entries,
            members=len(self._members),
            seconds=last - first,
        )

    def row(self, row: PartitionVerdict) -> PartitionVerdict:
        """Return a partition's numbers with its periods and silences."""
        return replace(
            row,
            periods=sum(1 for period in self._claims.values() if period.claim.tp == row.tp),
            silence=self._silences.longest(row.tp),
            silence_moved=self._silences.longest_in(row.tp, moved=True),
            silence_stayed=self._silences.longest_in(row.tp, moved=False),
        )

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _number(self, entry: Entry) -> None:
        """Check that no entry of a member's log is missing."""
        before = self._latest.get(entry.source)
        if before is None:
            if entry.seq != 1:
                self._note(f"{entry.where}: the log of {entry.source} begins at #{entry.seq}")
        elif entry.seq != before.seq + 1:
            text = f"the log of {entry.source} goes from #{before.seq} to #{entry.seq}"
            self._findings.add(Finding(ProblemKind.INCOMPLETE, text, (before, entry)))

    def _mixed(self) -> None:
        groups = sorted({str(source.group) for source in self._members})
        if len(groups) > 1:
            text = f"logs of several groups are mixed, name one: {', '.join(groups)}"
            self._findings.add(Finding(ProblemKind.INCOMPLETE, text))

    def _silent_ends(self) -> None:
        """Say where claims ended that nobody ended: their process was killed, or still runs."""
        silent: dict[Source, list[Period]] = {}
        for period in self._claims.values():
            if period.owned:
                silent.setdefault(period.source, []).append(period)
        for source, periods in silent.items():
            last = self._latest[source]
            fault = self._killed.get(source.member)
            why = "" if fault is None else f" ({_fault(fault)}, {fault.where})"
            taken = sorted({p.overtaken.where for p in periods if p.overtaken is not None})
            then = f"; taken over at {', '.join(taken)}" if taken else "; not taken over"
            claims = ", ".join(str(period.claim) for period in periods)
            self._note(
                f"{source} never ended {claims}: counted as ended by its last entry "
                f"{last.where}{why}{then}"
            )


def _fault(entry: Entry) -> str:
    return entry.event.fault if isinstance(entry.event, FaultStep) else ""
