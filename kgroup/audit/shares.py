"""A run judged in shares: some judges see a share of the partitions each, one sees all the rest.

Decides: which entries a share of the partitions needs, and how the verdicts are put together again:
the same as one judge of the whole run gives, field by field.
Never: judges. Which oracles look at one partition at a time they say themselves.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, get_type_hints
from zlib import crc32

from kgroup.audit.findings import Findings, ordered
from kgroup.audit.verdict import PartitionVerdict, Problem, Verdict
from kgroup.journal import Entry
from kgroup.journal.events import EVENT_CLASSES
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass

_OF_ONE: Final = frozenset(
    event for event in EVENT_CLASSES if get_type_hints(event).get("claim") is Claim
)
"""Events about one partition."""

_LINE: Final = re.compile(
    rf'[^\[\]]*"event":"(?:{"|".join(sorted(event.KIND for event in _OF_ONE))})"'
    r'[^\[\]]*"claim":\["([^"\\]*)",(\d+),'
)


@dataclass(frozen=True, slots=True)
class Share:
    """Some of the partitions.

    Args:
        number: which share, from 0 on.
        count: how many there are.
    """

    number: int
    count: int

    def has(self, tp: TopicPartition) -> bool:
        """Tell whether a partition is one of these."""
        return self._has(tp.topic, str(tp.partition))

    def needs(self, entry: Entry) -> bool:
        """Tell whether an entry is about these partitions, or about more than one."""
        event: Any = entry.event
        return type(event) not in _OF_ONE or self.has(event.claim.tp)

    def skips(self, line: str) -> bool:
        """Tell whether a line can be seen to be of another partition without reading it."""
        found = _LINE.match(line)
        return found is not None and not self._has(found[1], found[2])

    def _has(self, topic: str, partition: str) -> bool:
        return crc32(f"{topic}-{partition}".encode()) % self.count == self.number


@dataclass(frozen=True, slots=True)
class Across:
    """What one judge says of everything that is not about one partition.

    Args:
        verdict: of its rows, periods and silences count.
        in_order: whether entries came in order of time; if not, those of a share may come in
            another order than among all, and its judge has seen another run.
    """

    verdict: Verdict
    in_order: bool


def joined(across: Across, shares: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a run from what its judges say.

    Args:
        across: what is not about one partition.
        shares: what is, of each share.
    """
    whole = across.verdict
    known = {row.tp: row for row in whole.partitions}
    rows = [_row(row, known.get(row.tp)) for share in shares for row in share.partitions]
    problems = [*whole.problems, *(each for share in shares for each in share.problems)]
    if not any(row.records for row in rows):
        problems += _nothing(whole)
    return replace(
        whole,
        partitions=tuple(sorted(rows, key=lambda row: row.tp)),
        problems=ordered(problems),
        broker_asked=any(share.broker_asked for share in shares),
    )


def _row(row: PartitionVerdict, known: PartitionVerdict | None) -> PartitionVerdict:
    if known is None:
        return row
    return replace(
        row,
        periods=known.periods,
        silence=known.silence,
        silence_moved=known.silence_moved,
        silence_stayed=known.silence_stayed,
    )


def _nothing(whole: Verdict) -> Iterable[Problem]:
    findings = Findings()
    findings.nothing_delivered(whole.entries, whole.members)
    return findings.problems()
