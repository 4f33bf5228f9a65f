"""S3, with `lease`: the leases of a member that claims keys through a log, one for each key.

Decides: until when what such a member has read back proves that it owns a key.
Never: trusts the member's own arithmetic; it reads what was written when, and what became of it.

A lease is reckoned from the writing of a heartbeat, and only when that was read back: a heartbeat
that is stopped on its way may arrive behind another member's accepted claim, and is void.
"""

from dataclasses import dataclass, field
from typing import Final

from kgroup.audit.oracles.watch import Violation
from kgroup.journal.events import (
    ClaimMessage,
    ClaimStage,
    ClaimStep,
    ClaimVerdict,
    Delivered,
    Entry,
)
from kgroup.types import TopicPartition

_PROVING: Final = frozenset({ClaimVerdict.RENEWED, ClaimVerdict.ADOPTED})
_TAKING: Final = frozenset({ClaimVerdict.ACCEPTED, ClaimVerdict.ADOPTED})


@dataclass(slots=True)
class KeyLeases:
    """What one member life can prove.

    Args:
        seconds: from the writing of a heartbeat to the end of what it proves.
        written: messages that were not read back, by ticket.
        began: accepted claims, by key.
        proved: writing of the last heartbeat that counts, by key.
    """

    seconds: float
    written: dict[int, Entry] = field(default_factory=dict)
    began: dict[TopicPartition, Entry] = field(default_factory=dict)
    proved: dict[TopicPartition, Entry] = field(default_factory=dict)

    def follow(self, entry: Entry, step: ClaimStep) -> None:
        """Take what became of a message."""
        if step.stage is ClaimStage.READ:
            self._read(entry, step)
        elif step.ticket is not None and step.stage is ClaimStage.WRITTEN:
            self.written[step.ticket] = entry
        elif step.ticket is not None and step.stage is ClaimStage.FAILED:
            self.written.pop(step.ticket, None)

    def delivered(self, entry: Entry, event: Delivered, slack: float) -> tuple[Violation, ...]:
        """Judge a delivery.

        Args:
            entry: of the delivery.
            event: the delivery.
            slack: seconds forgiven.
        """
        tp = event.claim.tp
        proof = self.proved.get(tp)
        if proof is None:
            text = f"{event.claim} delivered before a heartbeat of its claim was read back"
        elif entry.at > proof.at + self.seconds + slack:
            late = entry.at - proof.at - self.seconds
            text = (
                f"{event.claim} delivered {late:.3f} s after the lease that {entry.source} has "
                "of it had ended"
            )
        else:
            return ()
        proofs = tuple(each for each in (self.began.get(tp), proof) if each is not None)
        return (Violation("S3", text, (*proofs, entry), tp),)

    def _read(self, entry: Entry, step: ClaimStep) -> None:
        written = None if step.ticket is None else self.written.pop(step.ticket, None)
        if written is None:
            if step.verdict in _TAKING:
                self.proved.pop(step.tp, None)  # somebody else has it
            return
        if step.message is ClaimMessage.CLAIM:
            if step.verdict is ClaimVerdict.ACCEPTED:
                self.began[step.tp] = entry
                self.proved.pop(step.tp, None)
            return
        began = self.began.get(step.tp)
        if began is not None and written.seq < began.seq:
            return  # written under the claim before, it says nothing of this one
        if step.message is ClaimMessage.HEARTBEAT and step.verdict in _PROVING:
            self.proved[step.tp] = written
        elif step.verdict in (ClaimVerdict.VOID, ClaimVerdict.RELEASED):
            self.proved.pop(step.tp, None)
