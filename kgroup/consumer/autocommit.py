"""Committing what is done, every now and then.

Decides: when; and that a commit that fails is said and tried again with the next one.
Never: covers what the newest read handed out: that is not done (the ledger knows).
"""

import logging
from typing import Final

import anyio

from kgroup.consumer.committing import Committing
from kgroup.types import CommitOutcome

__all__ = ["AutoCommit", "log_failures"]

log = logging.getLogger(__name__)

_NAMED: Final = 5
"""Partitions a warning names."""


class AutoCommit:
    """Commits in the background.

    Args:
        committing: knows what is done.
        interval: seconds between two commits.
    """

    def __init__(self, committing: Committing, interval: float) -> None:
        self._committing = committing
        self._interval = interval

    async def run(self) -> None:
        """Commit until cancelled; a cause of failure is told once, until commits succeed again."""
        told: frozenset[str] = frozenset()
        while True:
            await anyio.sleep(self._interval)
            told = log_failures("auto-commit", await self._committing.commit_done(), told=told)


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
