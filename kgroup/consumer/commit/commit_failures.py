"""Saying that a commit failed which nobody waits for.

Decides: that a cause is said once, until commits succeed again.
Never: hides a cause behind another one, or floods a log with partitions.
"""

import logging
from typing import Final

from kgroup.types import CommitOutcome

__all__ = ["log_failures"]

log = logging.getLogger(__name__)

_NAMED: Final = 5
"""Partitions a warning names."""


def log_failures(
    what: str, outcome: CommitOutcome, *, told: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Warn of partitions that were not committed; they will be, or are somebody else's now.

    Args:
        what: which commit it was.
        outcome: what became of it.
        told: causes that were warned of before.

    Returns:
        The causes of this commit's failures.
    """
    causes: dict[str, list[str]] = {}
    for tp, each in sorted(outcome.failed().items()):
        causes.setdefault(f"{each.status.value}: {each.reason}", []).append(str(tp))
    for cause, partitions in causes.items():
        if cause in told:
            continue
        named = ", ".join(partitions[:_NAMED])
        more = f" and {len(partitions) - _NAMED} more" if len(partitions) > _NAMED else ""
        log.warning("%s partitions=%s%s %s", what, named, more, cause)
    return frozenset(causes)
