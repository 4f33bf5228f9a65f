"""Committing what is done, every now and then.

Decides: when; and that a commit that fails is said and tried again with the next one.
Never: covers what the newest read handed out: that is not done (the ledger knows).
"""

import anyio

from kgroup.consumer.commit.commit_failures import log_failures
from kgroup.consumer.commit.committing import Committing

__all__ = ["AutoCommit"]


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
