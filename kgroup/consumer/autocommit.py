"""Committing what is done, every now and then.

Decides: when; and that a commit that fails is said and tried again with the next one.
Never: covers what the newest read handed out: that is not done (the ledger knows).
"""

import logging

import anyio

from kgroup.consumer.committing import Committing
from kgroup.types import CommitOutcome

__all__ = ["AutoCommit", "log_failures"]

log = logging.getLogger(__name__)


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
        """Commit until cancelled."""
        while True:
            await anyio.sleep(self._interval)
            log_failures("auto-commit", await self._committing.commit_done())


def log_failures(what: str, outcome: CommitOutcome) -> None:
    """Warn of partitions that were not committed; they will be, or are somebody else's now."""
    for tp, each in outcome.failed().items():
        log.warning(
            "%s partition=%s offset=%d %s: %s",
            what,
            tp,
            each.offset.offset,
            each.status.value,
            each.reason,
        )
