"""A verdict as plain text for a person.

Decides: what a person reads first: numbers per partition, then rebalances, problems, the word.
Never: computes anything that is not in the verdict; colours belong to the command line.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kgroup.audit.verdict import PartitionVerdict, Problem, Rebalance, Verdict

_COLUMNS: Final = (
    "offsets",
    "records",
    "lost",
    "twice",
    "beyond",
    "order",
    "unowned",
    "shared",
    "silence",
    "moved",
    "stayed",
)
_LEGEND: Final = """\
twice: delivered again; beyond: of these below the last commit; order: out of order;
unowned: delivered after a revocation or a loss; shared: owned by two at once;
silence: longest time without a delivery, s; moved, stayed: the same around a rebalance in which
the partition changed hands or did not"""

_UNASKED: Final = (
    " as far as the logs say (no broker was asked where partitions end, a loss there is not seen)"
)


def render_verdict(verdict: Verdict) -> str:
    """Return the verdict as text, lines separated by newlines, the last line the word itself."""
    parts = [
        f"{verdict.entries} entries of {verdict.members} members over {verdict.seconds:.1f} s",
        *_tables(verdict),
        _LEGEND,
    ]
    if verdict.rebalances:
        parts.append("rebalances (in brackets the longest silence):")
        parts.extend(_rebalance(rebalance) for rebalance in verdict.rebalances)
    parts.extend(f"note: {note}" for note in verdict.notes)
    parts.extend(_problem(problem) for problem in verdict.problems)
    parts.append(_word(verdict))
    return "\n".join(parts)


def _word(verdict: Verdict) -> str:
    total = verdict.total
    asked = "" if verdict.broker_asked else _UNASKED
    if verdict.clean:
        again = total.duplicated
        return (
            f"CLEAN{asked}: {total.end} records of {len(verdict.partitions)} partitions delivered, "
            f"0 lost, {again} delivered again within the last commit"
        )
    kinds = ", ".join(dict.fromkeys(problem.kind.value for problem in verdict.problems))
    return f"NOT CLEAN{asked}: {len(verdict.problems)} problems ({kinds})"


def _problem(problem: Problem) -> str:
    where = "" if problem.tp is None else f" {problem.tp}"
    rule = f" [{problem.rule}]" if problem.rule else ""
    lines = "".join(f"\n    {line}" for line in problem.lines)
    return f"PROBLEM {problem.kind.value}{where}{rule}, {problem.count}x: {problem.text}{lines}"


def _rebalance(rebalance: Rebalance) -> str:
    generations = ", ".join(map(str, rebalance.generations)) or "none"
    causes = "; ".join(rebalance.causes) or "no cause given"
    return (
        f"  at {rebalance.began_at:6.1f} s, generation {generations}: "
        f"{len(rebalance.moved)} moved ({_seconds(rebalance.silence_moved)} s), "
        f"{len(rebalance.stayed)} stayed ({_seconds(rebalance.silence_stayed)} s): {causes}"
    )


def _tables(verdict: Verdict) -> Iterator[str]:
    """Return a table for each topic, the totals below the last."""
    topics = dict.fromkeys(row.tp.topic for row in verdict.partitions)
    for topic in topics:
        rows = [
            (str(row.tp.partition), f"{row.start}-{row.end}", *_numbers(row))
            for row in verdict.partitions
            if row.tp.topic == topic
        ]
        if topic == next(reversed(topics)):
            total = verdict.total
            rows.append(("all", str(total.end), *_numbers(total)))
        yield f"topic {topic}"
        yield _table(("", *_COLUMNS), rows)


def _numbers(row: PartitionVerdict) -> tuple[str, ...]:
    return (
        str(row.records),
        str(row.lost),
        str(row.duplicated),
        str(row.beyond_commit),
        str(row.out_of_order),
        str(row.not_owned),
        str(row.two_owners),
        _seconds(row.silence),
        _seconds(row.silence_moved),
        _seconds(row.silence_stayed),
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
