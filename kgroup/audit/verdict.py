"""What an audit says: numbers per partition, problems with their proof, and whether all is well.

Decides: the shape of a verdict and its JSON form.
Never: computes one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum

from kgroup.types import TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known about the partitions from elsewhere than the members' logs.

    Args:
        bounds: partition -> its first offset and the offset after its last record, read from the
            broker when nobody produces any more; partitions that nobody was given count as lost.
        sparse: topics with offsets that consumers do not see (transactions, compaction); a gap
            there is a loss only where `produced` says that a record stands in it.
        produced: partition -> ranges of offsets (first, offset after the last) at which a
            producer's records were acknowledged; with it exactly these must be delivered.
    """

    bounds: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    sparse: frozenset[str] = frozenset()
    produced: Mapping[TopicPartition, tuple[tuple[int, int], ...]] | None = None


class ProblemKind(Enum):
    """What is wrong."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    OUT_OF_ORDER = "out of order"
    NOT_OWNED = "delivered without owning"
    TWO_OWNERS = "owned by two at once"
    BROKEN_PROMISE = "broken promise"
    UNREADABLE = "log unreadable"
    INCOMPLETE = "log incomplete"
    EMPTY = "nothing delivered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One kind of wrong at one partition, however often.

    Args:
        kind: what is wrong.
        text: what happened the first time, with its numbers.
        tp: the partition, None when it is about a log or a member.
        rule: id of the broken property, "" when the audit itself found it.
        count: records, or times for what is not about records.
        lines: `file:line` of the entries that prove it, the first few.
    """

    kind: ProblemKind
    text: str
    tp: TopicPartition | None = None
    rule: str = ""
    count: int = 1
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionVerdict:
    """The numbers of one partition.

    Args:
        tp: which.
        start: where the group began, the first offset that had to be delivered.
        end: offset after the last one that had to be delivered.
        committed: last acknowledged commit, None without one.
        records: records delivered, repeated ones each time.
        lost: records never delivered.
        duplicated: records delivered again.
        beyond_commit: of these, below the last acknowledged commit before the takeover.
        out_of_order: records delivered after a later one of the same claim.
        not_owned: records delivered after a revocation or a loss, or without a claim.
        two_owners: how often two members owned it at once.
        periods: how many periods of ownership it saw.
        silence: longest time between two deliveries, seconds; None with fewer than two.
        silence_moved: the longest that overlaps a rebalance in which it moved, None without one.
        silence_stayed: the longest that overlaps a rebalance in which it stayed, None without one.
    """

    tp: TopicPartition
    start: int
    end: int
    committed: int | None = None
    records: int = 0
    lost: int = 0
    duplicated: int = 0
    beyond_commit: int = 0
    out_of_order: int = 0
    not_owned: int = 0
    two_owners: int = 0
    periods: int = 0
    silence: float | None = None
    silence_moved: float | None = None
    silence_stayed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """One rebalance: rounds that follow each other closely.

    Args:
        began_at: seconds after the first entry of the logs.
        generations: generations entered, in order.
        causes: what happened to members before it, and why it came, as they said; each once.
        moved: partitions of which a period began or ended in it.
        stayed: partitions that were delivered before and kept their owner.
        silence_moved: longest time without a delivery among those that moved, None without any.
        silence_stayed: the same among those that stayed.
    """

    began_at: float
    generations: tuple[int, ...] = ()
    causes: tuple[str, ...] = ()
    moved: tuple[TopicPartition, ...] = ()
    stayed: tuple[TopicPartition, ...] = ()
    silence_moved: float | None = None
    silence_stayed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the logs of a group prove.

    Args:
        partitions: numbers per partition, in order.
        problems: everything that is wrong; empty when all is well.
        notes: what a person should know, e.g. which claims ended without a word and where.
        rebalances: in order of time.
        entries: how many log entries were read.
        members: how many lives of members wrote them.
        seconds: from the first entry to the last.
        broker_asked: whether it is known from elsewhere where partitions end; if not, what was
            lost behind the last delivery and the last commit is not seen.
    """

    partitions: tuple[PartitionVerdict, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    rebalances: tuple[Rebalance, ...] = ()
    entries: int = 0
    members: int = 0
    seconds: float = 0.0
    broker_asked: bool = True

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def total(self) -> PartitionVerdict:
        """All partitions together; `start` and `end` span the offsets that had to be delivered."""
        return PartitionVerdict(
            tp=TopicPartition("total", len(self.partitions)),
            start=0,
            end=sum(row.end - row.start for row in self.partitions),
            records=sum(row.records for row in self.partitions),
            lost=sum(row.lost for row in self.partitions),
            duplicated=sum(row.duplicated for row in self.partitions),
            beyond_commit=sum(row.beyond_commit for row in self.partitions),
            out_of_order=sum(row.out_of_order for row in self.partitions),
            not_owned=sum(row.not_owned for row in self.partitions),
            two_owners=sum(row.two_owners for row in self.partitions),
            periods=sum(row.periods for row in self.partitions),
            silence=_longest(row.silence for row in self.partitions),
            silence_moved=_longest(row.silence_moved for row in self.partitions),
            silence_stayed=_longest(row.silence_stayed for row in self.partitions),
        )


def _longest(silences: Iterable[float | None]) -> float | None:
    return max((silence for silence in silences if silence is not None), default=None)


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """Return a verdict as plain values for `json.dumps`; keys are the names of the fields."""
    return {
        "clean": verdict.clean,
        "broker_asked": verdict.broker_asked,
        "entries": verdict.entries,
        "members": verdict.members,
        "seconds": verdict.seconds,
        "total": _row_json(verdict.total),
        "partitions": [_row_json(row) for row in verdict.partitions],
        "problems": [
            {
                "kind": problem.kind.value,
                "rule": problem.rule,
                "partition": None if problem.tp is None else str(problem.tp),
                "count": problem.count,
                "text": problem.text,
                "lines": list(problem.lines),
            }
            for problem in verdict.problems
        ],
        "rebalances": [
            {
                "began_at": rebalance.began_at,
                "generations": list(rebalance.generations),
                "causes": list(rebalance.causes),
                "moved": [str(tp) for tp in rebalance.moved],
                "stayed": [str(tp) for tp in rebalance.stayed],
                "silence_moved": rebalance.silence_moved,
                "silence_stayed": rebalance.silence_stayed,
            }
            for rebalance in verdict.rebalances
        ],
        "notes": list(verdict.notes),
    }


def _row_json(row: PartitionVerdict) -> dict[str, object]:
    return {
        "topic": row.tp.topic,
        "partition": row.tp.partition,
        "start": row.start,
        "end": row.end,
        "committed": row.committed,
        "records": row.records,
        "lost": row.lost,
        "duplicated": row.duplicated,
        "beyond_commit": row.beyond_commit,
        "out_of_order": row.out_of_order,
        "not_owned": row.not_owned,
        "two_owners": row.two_owners,
        "periods": row.periods,
        "silence": row.silence,
        "silence_moved": row.silence_moved,
        "silence_stayed": row.silence_stayed,
    }
