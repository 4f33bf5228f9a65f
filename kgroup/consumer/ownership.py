"""Changes of ownership, carried out one after the other.

Decides: the order of steps at each kind of change.
- Assigned: the claims are added, `on_assigned` runs, then records are handed out.
- Revoked: no more records are handed out. With auto-commit, records that are done are committed.
  `on_revoked` runs. With auto-commit, records done meanwhile are committed. Every commit that was
  asked for is answered. Then the claims are forgotten, and `settled` lets the backend hand the
  partitions back.
- Lost: the claims are forgotten at once, then `on_lost` runs. Nothing is committed.
Never: changes ownership itself, or holds it up because a listener failed.
KIPs: 429.
"""

from typing import assert_never

import anyio

from kgroup.backends.backend import GroupBackend
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.gate import Gate
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.commit.commit_order import log_failures
from kgroup.consumer.commit.committing import Committing
from kgroup.consumer.listener import ListenerCalls
from kgroup.journal import OwnershipStep, Phase, Sink
from kgroup.types import ChangeKind, Claim, OwnershipChange


class Ownership:
    """Carries out changes for one consumer.

    Args:
        delivery: knows which claims are owned, and which records are in hand.
        gate: knows the backend, and takes reports of failed callbacks.
        notifiers: fired when positions are needed, and when readers should look again.
        committing: commits before something is given up.
        calls: the listener.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        delivery: Delivery,
        gate: Gate,
        notifiers: Notifiers,
        committing: Committing,
        calls: ListenerCalls,
        sink: Sink,
    ) -> None:
        self._delivery = delivery
        self._owned = delivery.owned
        self._gate = gate
        self._notifiers = notifiers
        self._committing = committing
        self._calls = calls
        self._sink = sink
        self.auto_commit: float | None = None
        """Longest time to wait for a commit before a revocation, None without auto-commit."""

    async def run(self, backend: GroupBackend) -> None:
        """Carry out the changes of a backend, and report them settled, until cancelled."""
        while True:
            change = await backend.next_change()
            error = await self._carry_out(change)
            backend.settled(change, failed=error is not None)
            self._complete(change)
            if error is not None:
                self._gate.report(error)

    def settle_now(self, change: OwnershipChange) -> None:
        """Carry out an assignment by hand, which calls no listener."""
        self._journal(change, Phase.BEGIN)
        match change.kind:
            case ChangeKind.ASSIGNED:
                self._take_in(change.added)
            case ChangeKind.REVOKED | ChangeKind.LOST:
                self._forget(change.removed)
            case _:
                assert_never(change.kind)
        self._journal(change, Phase.END)
        self._complete(change)

    # -- the three kinds -------------------------------------------------------------------

    async def _carry_out(self, change: OwnershipChange) -> Exception | None:
        self._journal(change, Phase.BEGIN)
        try:
            match change.kind:
                case ChangeKind.ASSIGNED:
                    self._take_in(change.added)
                    return await self._calls.call(change)
                case ChangeKind.REVOKED:
                    return await self._revoke(change)
                case ChangeKind.LOST:
                    self._forget(change.removed)
                    return await self._calls.call(change)
                case _:
                    assert_never(change.kind)
        finally:
            self._journal(change, Phase.END)  # also of one that closing breaks off

    def _take_in(self, claims: tuple[Claim, ...]) -> None:
        self._owned.begin(claims)
        self._notifiers.work.notify()

    async def _revoke(self, change: OwnershipChange) -> Exception | None:
        self._owned.shut(change.removed)
        await self._commit(change.removed)
        error = await self._calls.call(change)
        # Again: the callback may have finished what was in its hands.
        await self._commit(change.removed)
        self._forget(change.removed)
        return error

    async def _commit(self, claims: tuple[Claim, ...]) -> None:
        with anyio.move_on_after(self.auto_commit):
            if self.auto_commit is not None:
                outcome = await self._committing.commit_done(claims)
                if self._gate.failure is None:
                    log_failures("commit before revocation", outcome)
            await self._committing.landed(claims)

    def _forget(self, claims: tuple[Claim, ...]) -> None:
        self._owned.end(claims)
        self._delivery.forget(claims)

    def _complete(self, change: OwnershipChange) -> None:
        """Hand out records of claims that were added; the backend knows that it is settled."""
        self._owned.open(change.added)
        self._notifiers.work.notify()
        self._notifiers.news.notify()

    def _journal(self, change: OwnershipChange, phase: Phase) -> None:
        self._sink.emit(ownership_step(change, phase))


def ownership_step(change: OwnershipChange, phase: Phase) -> OwnershipStep:
    """Return the entry of the event log for one edge of a change."""
    claims = change.added if change.kind is ChangeKind.ASSIGNED else change.removed
    generation = change.generation
    return OwnershipStep(
        kind=change.kind,
        phase=phase,
        claims=claims,
        member_id=None if generation is None else generation.member_id,
        generation_id=None if generation is None else generation.generation_id,
        cause=change.cause.value,
        serial=change.serial,
    )
