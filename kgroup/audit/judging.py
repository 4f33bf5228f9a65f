"""The audit: event logs and the broker's truth go in, a verdict comes out.

Decides: which oracles judge a finished run, and what an unreadable or incomplete log means.
Never: asks a broker, keeps records, or trusts a member's opinion of itself.

One pass over the merged entries; memory is bounded by members, partitions and periods.
A log with a hole proves nothing, so an unreadable line or a missing number is a problem; a line
that a killed process did not finish is not.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.audit.deliveries import Account, Deliveries
from kgroup.audit.findings import Finding, Findings, find_logs, merge_logs
from kgroup.audit.oracles import DeliveryGate, OneOwnerInTime, Oracle, Violation, Watch
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
    bench = _Bench(truth or Truth(), oracles, clean_handover=clean_handover)
    for item in entries:
        if isinstance(item, BadLine):
            bench.unreadable(item)
        elif group in (None, item.source.group) or isinstance(item.event, FaultStep):
            bench.observe(item)
    return bench.verdict()


class _Bench:
    """Everything that watches one run."""

    def __init__(self, truth: Truth, oracles: Sequence[Oracle], *, clean_handover: bool) -> None:
        self._asked = bool(truth.bounds or truth.produced)
        self._deliveries = Deliveries(truth, clean_handover=clean_handover)
        self._silences = Silences()
        self._watch = Watch((DeliveryGate(), OneOwnerInTime(), *oracles))
        self._periods = Periods()
        self._findings = Findings()
        self._notes: dict[str, None] = {}
        self._latest: dict[Source, Entry] = {}
        self._members: set[Source] = set()
        self._claims: dict[PeriodKey, Period] = {}
        self._killed: dict[str, Entry] = {}
        self._counts: dict[tuple[ProblemKind, TopicPartition | None], int] = {}
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
        self._number(entry)
        self._entries += 1
        self._span = (entry.at if self._span is None else self._span[0], entry.at)
        self._silences.observe(entry)
        for finding in self._deliveries.observe(entry):
            self._found(finding)
        for violation in self._watch.observe(entry):
            self._violated(violation)
        for period in self._periods.observe(entry):
            self._claims[period.key] = period
        if not isinstance(entry.event, FaultStep | CommitStored | RoundStored):
            self._members.add(entry.source)
        elif isinstance(entry.event, FaultStep) and entry.event.phase is Phase.BEGIN:
            self._killed[entry.event.target] = entry
        if isinstance(entry.event, MemberStarted) and entry.event.client is not None:
            self._note(f"{entry.where}: a log of {entry.event.client}, {_NOT_TOLD}")
        if isinstance(entry.event, UnknownEvent):
            self._note(f"{entry.where}: events {entry.event.kind!r} are not known here")
        self._latest[entry.source] = entry

    def verdict(self) -> Verdict:
        """Close the accounts."""
        for violation in self._watch.finish():
            self._violated(violation)
        for finding in self._deliveries.finish():
            self._found(finding)
        self._silent_ends()
        self._mixed()
        accounts = self._deliveries.accounts
        if not any(account.records for account in accounts.values()):
            text = f"{self._entries} entries of {len(self._members)} members hold no delivery"
            self._findings.add(Finding(ProblemKind.EMPTY, text))
        first, last = self._span or (0.0, 0.0)
        return Verdict(
            partitions=tuple(self._row(tp, account) for tp, account in sorted(accounts.items())),
            problems=self._findings.problems(),
            notes=tuple(self._notes),
            rebalances=self._silences.rebalances(),
            entries=self._entries,
            members=len(self._members),
            seconds=last - first,
            broker_asked=self._asked,
        )

    def _found(self, finding: Finding) -> None:
        key = (finding.kind, finding.tp)
        self._counts[key] = self._counts.get(key, 0) + finding.count
        self._findings.add(finding)

    def _violated(self, violation: Violation) -> None:
        kind = _KINDS.get(violation.rule, ProblemKind.BROKEN_PROMISE)
        last = violation.entries[-1].event if violation.entries else None
        records = kind is ProblemKind.NOT_OWNED and isinstance(last, Delivered)
        self._found(
            Finding(
                kind,
                violation.text,
                violation.entries,
                violation.tp,
                violation.rule,
                last.count if records and isinstance(last, Delivered) else 1,
            )
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

    def _row(self, tp: TopicPartition, account: Account) -> PartitionVerdict:
        return PartitionVerdict(
            tp=tp,
            start=account.start or 0,
            end=account.end or 0,
            committed=account.committed,
            records=account.records,
            lost=account.lost,
            duplicated=account.duplicated,
            beyond_commit=account.beyond,
            out_of_order=account.out_of_order,
            not_owned=self._counts.get((ProblemKind.NOT_OWNED, tp), 0),
            two_owners=self._counts.get((ProblemKind.TWO_OWNERS, tp), 0),
            periods=sum(1 for period in self._claims.values() if period.claim.tp == tp),
            silence=self._silences.longest(tp),
            silence_moved=self._silences.longest_in(tp, moved=True),
            silence_stayed=self._silences.longest_in(tp, moved=False),
        )


def _fault(entry: Entry) -> str:
    return entry.event.fault if isinstance(entry.event, FaultStep) else ""
