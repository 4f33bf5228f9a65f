"""The verdict on a run of the demo, from the logs it left and what the broker holds.

Decides: which promises the demo is held to, and the exit code: 0 only for a clean verdict.
Never: looks at anything but logs and offsets.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kgroup.audit import Truth, Verdict, audit
from kgroup.audit.oracles import at_least_once
from kgroup.types import TopicPartition

__all__ = ["exit_code", "judge_run"]

# K2 counts rounds. It is left out: when one member releases and rejoins before another has had its
# SyncGroup answered, the other releases only in the next round, and an addition costs one round
# more for each member that gives something up. The rounds of each rebalance are in the table.

_SLACK: Final = 0.25
"""Seconds forgiven to the lease: stamps of a busy machine are later than the decisions."""


def judge_run(folder: Path, bounds: Mapping[TopicPartition, tuple[int, int]]) -> Verdict:
    """Judge the event logs in a folder.

    Args:
        folder: holds the members' logs, `*.jsonl`.
        bounds: partition -> first offset and the offset after the last record.

    Raises:
        FileNotFoundError: there are no logs.
    """
    return audit(
        [folder / "*.jsonl"],
        Truth(bounds=bounds),
        oracles=at_least_once(few_rounds=False, slack=_SLACK),
    )


def exit_code(verdict: Verdict) -> int:
    """Return 0 for a clean verdict, 1 otherwise."""
    return 0 if verdict.clean else 1
