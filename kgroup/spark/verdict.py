"""The verdict on a table: what was counted and looked at goes in, findings come out.

Decides: what is lost, doubled, outside the log or committed too early, and what is no finding:
offsets that a log hands out to nobody, rows that were written while the table was judged, rows
whose records the log has dropped since; and the words of both.
Never: asks Spark or a broker.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from kgroup.spark.counting import Astray, Missing, Span, StrayCount, Suspect
from kgroup.types import TopicPartition
from kgroup.values import dataclass

_NOTHING: Final = Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a table is compared with.

    Args:
        topic: its name.
        bounds: partition -> where its log begins and ends.
        given: whether somebody gave the bounds; then every row outside is wrong. Those of a log
            move on: records before it were dropped, and those behind it may be new.
        group: name of the group whose commits are compared too, None for none.
        committed: partition -> the group's position; none for partitions without one.
    """

    topic: str
    bounds: Mapping[int, Span]
    given: bool = False
    group: str | None = None
    committed: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found about a table.

    Args:
        suspects: each partition's numbers.
        strays: rows that are not within the bounds of a log.
        missing: partition -> its offsets without a row.
        doubled: partition -> the first few offsets with several rows.
        ends: partition -> where its log ended after the table was read; empty when not asked.
        late: partition -> rows at or behind that end.
        log_asked: whether a log was asked about missing offsets.
    """

    suspects: Mapping[int, Suspect]
    strays: tuple[StrayCount, ...]
    missing: Mapping[int, Missing]
    doubled: Mapping[int, tuple[Span, ...]]
    ends: Mapping[int, int] = field(default_factory=dict)
    late: Mapping[int, int] = field(default_factory=dict)
    log_asked: bool = True


class FindingKind(Enum):
    """What is wrong."""

    LOST = "lost"
    DOUBLED = "doubled"
    OUTSIDE = "outside the log"
    NO_PLACE = "without a place"
    AHEAD = "commit ahead of the table"
    BEYOND = "commit behind the end of the log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One kind of wrong at one partition.

    Args:
        kind: what is wrong.
        text: what it is, with its numbers.
        count: offsets or rows.
        tp: the partition, None when it is about none.
        examples: the first few offsets.
    """

    kind: FindingKind
    text: str
    count: int
    tp: TopicPartition | None = None
    examples: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRow:
    """The numbers of one partition.

    Args:
        tp: which.
        bounds: where its log begins and ends.
        rows: rows within the bounds.
        lost: offsets without a row, without those that nobody can see.
        untold: of these, offsets of which no log could say whether anybody can see them.
        invisible: offsets without a row that the log hands out to nobody.
        doubled: rows that are there in spite of another one of the same offset.
        outside: rows outside the bounds.
        committed: the group's position, None without one.
        ahead: lost offsets that lie before it.
    """

    tp: TopicPartition
    bounds: Span
    rows: int = 0
    lost: int = 0
    untold: int = 0
    invisible: int = 0
    doubled: int = 0
    outside: int = 0
    committed: int | None = None
    ahead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVerdict:
    """What a table has of a topic.

    Args:
        partitions: in order.
        findings: everything that is wrong; empty when all is well.
        notes: what a person should know besides.
        log_asked: whether offsets that nobody can see were told from lost ones.
    """

    partitions: tuple[PartitionRow, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    log_asked: bool

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def judge(truth: Truth, evidence: Evidence) -> TableVerdict:
    """Return the verdict on a table."""
    rows = tuple(_row(truth, evidence, partition) for partition in sorted(evidence.suspects))
    findings: list[Finding] = []
    for row in rows:
        findings += _of_partition(truth, evidence, row)
    findings += _of_no_partition(truth, evidence)
    return TableVerdict(
        partitions=rows,
        findings=tuple(findings),
        notes=tuple(_notes(truth, evidence, rows)),
        log_asked=evidence.log_asked,
    )


def _row(truth: Truth, evidence: Evidence, partition: int) -> PartitionRow:
    suspect = evidence.suspects[partition]
    missing = evidence.missing.get(partition, _NOTHING)
    return PartitionRow(
        tp=TopicPartition(truth.topic, partition),
        bounds=suspect.bounds,
        rows=suspect.rows,
        lost=missing.lost,
        untold=missing.untold,
        invisible=missing.invisible,
        doubled=suspect.rows - suspect.offsets,
        outside=sum(each.rows for each in evidence.strays if each.partition == partition),
        committed=truth.committed.get(partition),
        ahead=missing.committed,
    )


# -- findings --------------------------------------------------------------------------------------


def _of_partition(truth: Truth, evidence: Evidence, row: PartitionRow) -> Iterator[Finding]:
    partition = row.tp.partition
    missing = evidence.missing.get(partition, _NOTHING)
    if row.lost:
        text = f"{_many(row.lost, 'offset')} without a row"
        yield _finding(FindingKind.LOST, text, row.lost, row.tp, missing.examples)
    if row.doubled:
        text = f"{_many(row.doubled, 'row')} too many"
        shown = evidence.doubled.get(partition, ())
        yield _finding(FindingKind.DOUBLED, text, row.doubled, row.tp, shown)
    yield from _outside(truth, evidence, row)
    if row.ahead:
        text = (
            f"{_many(row.ahead, 'offset')} without a row before {row.committed}, where "
            f"{truth.group} has committed; the first is {missing.first}"
        )
        yield _finding(FindingKind.AHEAD, text, row.ahead, row.tp)
    end = evidence.ends.get(partition)
    if not truth.given and end is not None and row.committed is not None and row.committed > end:
        text = f"{truth.group} has committed {row.committed}, and the log ends at {end}"
        yield _finding(FindingKind.BEYOND, text, row.committed - end, row.tp)


def _outside(truth: Truth, evidence: Evidence, row: PartitionRow) -> Iterator[Finding]:
    partition = row.tp.partition
    for stray in evidence.strays:
        if stray.partition != partition:
            continue
        behind = stray.why is Astray.BEHIND
        count = stray.rows if truth.given else evidence.late.get(partition, 0) * behind
        if count:
            edge = f"at or behind {_end(evidence, row)}" if behind else f"below {row.bounds.first}"
            far = f"up to {stray.highest}" if behind else f"down to {stray.lowest}"
            text = f"{_many(count, 'row')} {edge}, {far}"
            yield _finding(FindingKind.OUTSIDE, text, count, row.tp)


def _end(evidence: Evidence, row: PartitionRow) -> int:
    return max(row.bounds.end, evidence.ends.get(row.tp.partition, 0))


def _of_no_partition(truth: Truth, evidence: Evidence) -> Iterator[Finding]:
    for stray in evidence.strays:
        if stray.why is Astray.NO_PARTITION:
            text = (
                f"{_many(stray.rows, 'row')} of partitions that {truth.topic} does not have, "
                f"from {stray.lowest} to {stray.highest}"
            )
            yield Finding(kind=FindingKind.OUTSIDE, text=text, count=stray.rows)
        elif stray.why is Astray.NO_PLACE:
            text = f"{_many(stray.rows, 'row')} with null for topic, partition or offset"
            yield Finding(kind=FindingKind.NO_PLACE, text=text, count=stray.rows)


def _finding(
    kind: FindingKind, text: str, count: int, tp: TopicPartition, shown: tuple[Span, ...] = ()
) -> Finding:
    return Finding(kind=kind, text=text, count=count, tp=tp, examples=shown)


# -- notes -----------------------------------------------------------------------------------------


def _notes(truth: Truth, evidence: Evidence, rows: tuple[PartitionRow, ...]) -> Iterator[str]:
    untold = sum(row.untold for row in rows)
    if untold and not evidence.log_asked:
        yield (
            "no log was asked: offsets that nobody can see (marks of transactions, aborted "
            "records, holes of compaction) count as lost here"
        )
    elif untold:
        yield (
            f"of {_many(untold, 'lost offset')} no log can say whether anybody could see them: "
            "it does not hold them"
        )
    if truth.group is not None and not truth.committed:
        yield f"group {truth.group} has committed nothing of {truth.topic}"
    if not truth.given:
        yield from _of_moving_logs(evidence, rows)


def _of_moving_logs(evidence: Evidence, rows: tuple[PartitionRow, ...]) -> Iterator[str]:
    bounds = {row.tp.partition: row for row in rows}
    for stray in evidence.strays:
        if stray.partition is None:
            continue
        row = bounds[stray.partition]
        if stray.why is Astray.BEFORE:
            yield (
                f"{row.tp}: {_many(stray.rows, 'row')} lie below {row.bounds.first}, where the "
                "log begins now; they are not judged"
            )
        new = stray.rows - evidence.late.get(stray.partition, 0)
        if stray.why is Astray.BEHIND and new:
            yield (
                f"{row.tp}: {_many(new, 'row')} lie behind {row.bounds.end}, where the log ended "
                "when it was asked; they are not judged"
            )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
