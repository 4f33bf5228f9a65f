"""The timers of a key: which of them run in each phase, and when each is due.

Decides: the instant of every timer.
Never: fires one; `step` does.
"""

import math
from collections.abc import Iterator

from kgroup.marshal.admission import AdmissionStage
from kgroup.marshal.key_state import KeyLife
from kgroup.marshal.phases import KeyPhase, KeyTrigger

__all__ = ["KEY_TIMERS", "due_of", "timers_of"]

KEY_TIMERS = frozenset(
    {
        KeyTrigger.CLAIM_DUE,
        KeyTrigger.LOCATE_DUE,
        KeyTrigger.BEAT_DUE,
        KeyTrigger.WRITE_LIMIT,
        KeyTrigger.LEASE_OVER,
    }
)


def timers_of(life: KeyLife) -> Iterator[tuple[KeyTrigger, float]]:
    """Yield the timers that run, with their instants; an end of the lease first."""
    if life.phase is KeyPhase.IDLE:
        return
    if life.phase is KeyPhase.PAUSING:
        yield KeyTrigger.CLAIM_DUE, life.claim_at
        return
    if life.lease_end is not None:
        yield KeyTrigger.LEASE_OVER, life.lease_end
    if life.phase is KeyPhase.LOCATING:
        yield KeyTrigger.LOCATE_DUE, life.locate_at
    elif life.write is not None:
        yield KeyTrigger.WRITE_LIMIT, life.write.limit
    elif life.phase in (KeyPhase.CONFIRMING, KeyPhase.OWNED, KeyPhase.RELEASING):
        yield KeyTrigger.BEAT_DUE, life.beat_at


def due_of(life: KeyLife) -> float:
    """Return the instant at which the first of its timers is due, infinity when none runs."""
    due = min((at for _, at in timers_of(life)), default=math.inf)
    if life.drain_until is not None:
        due = min(due, life.drain_until)
    batch = life.admission
    if batch is not None and batch.stage is AdmissionStage.WAITING and life.write is None:
        due = min(due, batch.not_before)
    return due
