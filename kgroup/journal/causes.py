"""What the event log calls the causes of a change of state, as far as something is judged by them.

Decides: the words, each in one place: an oracle that asks for a word that is not written any more
judges nothing, and nobody notices.
Never: is the whole vocabulary; a member's table has more triggers. Each word here is the one of the
trigger of the same name there, which a test compares: this room stands below the table's.
"""

from enum import StrEnum

__all__ = ["StateCause"]


class StateCause(StrEnum):
    """Causes of a `StateChanged`; equal to the text in the event."""

    # the application, and this member's own bookkeeping
    UNSUBSCRIBED = "unsubscribed"
    COORDINATOR_LOST = "coordinator lost"
    # replies
    MEMBER_ID_GIVEN = "member id given"
    ELECTED = "joined as leader"
    ELECTED_UNASKED = "joined as leader, nothing to assign"
    JOINED = "joined as follower"
    SYNCED = "synced"
    ASSIGNMENT_UNREADABLE = "assignment unreadable"
    REJOIN_ASKED = "rejoin asked"
    RETRY_LATER = "retry later"
    GENERATION_REFUSED = "generation refused"
    MEMBER_REFUSED = "member refused"
    LEAVE_ENDED = "leave ended"
    ROUND_NOT_PERMITTED = "the round is not permitted"
    REFUSED = "refused for good"
    FENCED = "fenced"
    # what heartbeats and commits tell beside the round
    REBALANCE_SIGNALLED = "rebalance signalled"
    GENERATION_STALE = "generation stale"
    EXPELLED = "expelled"
    NOT_PERMITTED = "not permitted"
    # timers
    LEASE_EXPIRED = "lease expired"
    POLL_EXPIRED = "poll interval over"
    CLOSE_LIMIT = "close limit"
