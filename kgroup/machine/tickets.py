"""Tickets: which reply belongs to which request.

Decides: identity of every effect that has a reply. A reply whose ticket the present state does
not await is dropped before the table sees it, so a late answer changes nothing.
Never: judges the reply.
"""

from dataclasses import dataclass

from kgroup.words import Word

__all__ = ["Errand", "Ticket"]


class Errand(Word):
    """What a ticket was drawn for."""

    FIND_COORDINATOR = "FindCoordinator"
    JOIN_GROUP = "JoinGroup"
    SYNC_GROUP = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE_GROUP = "LeaveGroup"
    RUN_ASSIGNOR = "assignor"


@dataclass(frozen=True, slots=True)
class Ticket:
    """One awaited reply.

    Args:
        errand: what was sent.
        serial: rising within one member; never reused.
        sent_at: instant of sending, seconds; the lease counts from here.
    """

    errand: Errand
    serial: int
    sent_at: float
