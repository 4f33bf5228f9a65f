"""Questions of a static member that it no longer awaits: an answer may still say "fenced".

Decides: which questions under the present member id these are, and until when.
Never: judges an answer; `refusals` does.
KIPs: 345.

A member that gets this answer has lost its place to another process, even when it no longer awaits
the answer:
1. A static member hands back what it had; a heartbeat, or a commit, is out. 2. Its lease ends, or
its coordinator is lost: older answers prove nothing any more. 3. The answer is FENCED_INSTANCE_ID.
4. The application subscribes again. Without the answer the member would send a JoinGroup without an
id, and so take the place back from its twin.

A question is kept until the next one of its kind, which gets the same answer; until a generation is
entered, because that coordinator has the last word; and no longer than the member id, because a
JoinGroup without one fences the member's own former id. A member that unsubscribes, hands
everything back and leaves the group gets no such answer: it has no id, and takes the place back
from a twin when it returns.
"""

from kgroup.frozen import replace
from kgroup.machine.wishes import Errand, Ticket
from kgroup.types import Generation
from kgroup.values import dataclass

_ROUND = frozenset({Errand.JOIN_GROUP, Errand.SYNC_GROUP})


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The latest questions of each kind that were given up, and where the commits among them are.

    Args:
        heartbeat: a heartbeat.
        round: a JoinGroup, or a SyncGroup.
        generation: no question itself: the one that was lost last, in which commits were asked.
    """

    heartbeat: Ticket | None = None
    round: Ticket | None = None
    generation: Generation | None = None

    def has(self, ticket: Ticket) -> bool:
        """Tell whether an answer is to one of them."""
        return ticket in (self.heartbeat, self.round)

    def taking(self, ticket: Ticket) -> "GivenUp":
        """Return them with one more question, if it is one about the id."""
        if ticket.errand is Errand.HEARTBEAT:
            return replace(self, heartbeat=ticket)
        return replace(self, round=ticket) if ticket.errand in _ROUND else self

    def without(self, errand: Errand) -> "GivenUp":
        """Return them once another question of the kind is out."""
        if errand is Errand.HEARTBEAT and self.heartbeat is not None:
            return replace(self, heartbeat=None)
        if errand in _ROUND and self.round is not None:
            return replace(self, round=None)
        return self
