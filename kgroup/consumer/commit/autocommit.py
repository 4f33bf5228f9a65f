"""Auto-commit: when, and of what.

Decides: that offsets are committed at an interval, and at once when a partition is held back for
want of a commit and some of its records are done. A commit that fails is logged, and tried again
with the next one.
Never: covers what the newest read handed out: that is not done (the ledger knows). Goes on, or
logs, after the consumer has failed: the reason is in the log already.
"""

import anyio

from kgroup.consumer.buffer.gate import Gate
from kgroup.consumer.commit.commit_order import log_failures
from kgroup.consumer.commit.committing import Committing


class AutoCommit:
    """Commits in the background.

    Args:
        committing: knows what is done.
        gate: knows whether the consumer can go on.
        interval: seconds between two commits.
    """

    def __init__(self, committing: Committing, gate: Gate, interval: float) -> None:
        self._committing = committing
        self._gate = gate
        self._interval = interval
        self._stopped = False

    def stop(self) -> None:
        """Commit no more; what was sent may still be answered."""
        self._stopped = True

    async def run(self) -> None:
        """Commit until cancelled or stopped, or until the consumer cannot go on.

        A cause of failure is logged once, until commits succeed again.
        """
        warned: frozenset[str] = frozenset()
        calls = 0
        while True:
            calls = await self._pause(calls)
            if self._stopped or self._gate.failure is not None:
                return
            outcome = await self._committing.commit_held()
            if self._gate.failure is None:
                warned = log_failures("auto-commit", outcome, warned=warned)

    async def _pause(self, calls: int) -> int:
        """Wait for the time of the next commit.

        Args:
            calls: of partitions held back, that were answered by a commit. Each one is an act of
                the application, so a commit that fails is not tried again before the interval.

        Returns:
            The calls that the next commit answers.
        """
        hold = self._gate.hold
        if hold is None:
            await anyio.sleep(self._interval)
            return 0
        with anyio.move_on_after(self._interval):
            await hold.due(calls)
        return hold.calls
