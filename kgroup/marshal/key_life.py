"""One key as one member lives it.

Decides: the shape, and when the next of its timers is due.
Never: changes; a step replaces it.
"""

import math
from dataclasses import dataclass

from kgroup.marshal.admission import Admission
from kgroup.marshal.messages import Kind
from kgroup.marshal.phases import KeyPhase
from kgroup.types import Cause, Claim, TopicPartition

__all__ = ["KeyLife", "Write"]


@dataclass(frozen=True, slots=True)
class Write:
    """A message that was written and not read back yet; of one key there is one at a time.

    Args:
        ticket: also the nonce in its header.
        kind: of the message.
        tail: position that it carries.
        sent_at: instant before it was written; the lease counts from here.
        limit: instant after which it is not waited for.
    """

    ticket: int
    kind: Kind
    tail: int
    sent_at: float
    limit: float


@dataclass(frozen=True, slots=True)
class KeyLife:
    """One key.

    Args:
        tp: the partition.
        phase: where it stands.
        write: what is awaited of the log.
        locating: ticket of the awaited position.
        locate_at: when the position is asked for again, infinity while it need not be.
        claim_at: when the claim is due.
        retry_at: instant before which it is not tried again.
        failures: claims in a row that came to nothing.
        claim: the period of ownership, None before and after.
        leaving: the same, from when it was given up until its release is settled.
        epoch: offset of the accepted claim, None without one.
        lease_end: instant after which nothing is handed out, nor waited for; None without a claim.
        proved: whether a heartbeat was read back.
        beat_at: when the next heartbeat is due.
        beaten_at: instant at which the last one was written.
        position: next to read, as far as the application has committed; None before it is known.
        logged: the same, as the log has it under this claim; None before the first heartbeat.
        committed_at: instant at which it was last sent to the group coordinator.
        sent: the highest that was written under this claim, or stood in the log before it: below
            it no heartbeat can take the position back.
        rewinds: whether a lower position is being committed.
        cools_down: whether others are to have it for a while once it is handed back.
        drain_until: instant after which a batch in hand is not waited for, None: none is.
        cause: why it is handed back, None while it is not.
        admission: of records, at most once; None without.
        due: when the next of its timers is, infinity when none runs; kept by whoever replaces it.
    """

    tp: TopicPartition
    phase: KeyPhase = KeyPhase.IDLE
    write: Write | None = None
    locating: int | None = None
    locate_at: float = math.inf
    claim_at: float = 0.0
    retry_at: float = 0.0
    failures: int = 0
    claim: Claim | None = None
    leaving: Claim | None = None
    epoch: int | None = None
    lease_end: float | None = None
    proved: bool = False
    beat_at: float = math.inf
    beaten_at: float = -math.inf
    position: int | None = None
    logged: int | None = None
    committed_at: float = -math.inf
    sent: int = 0
    rewinds: bool = False
    cools_down: bool = False
    drain_until: float | None = None
    cause: Cause | None = None
    admission: Admission | None = None
    due: float = math.inf

    def publishes(self, until: int) -> bool:
        """Tell whether the log says, under this claim, that what is below is handed out.

        1. A heartbeat says so; 2. before it is read back what it speaks of is refused, and so
        nobody's; 3. it is read back. Until it is taken back, or asked for once more, it stays so.
        """
        if self.claim is None or self.logged is None or self.position is None:
            return False
        return until <= min(self.logged, self.position)

    @property
    def flows(self) -> bool:
        """Whether its records may be handed out while its lease lasts."""
        return self.phase is KeyPhase.OWNED and not self.rewinds

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is under way."""
        return self.phase is KeyPhase.IDLE
