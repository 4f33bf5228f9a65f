"""Faults made on purpose, as a log has them: the members they concern, since when there is calm.

Decides: whether a member was free to do what it promises, and which ones are dead.
Never: knows what a fault does, but that some kill; any that concerns a member excuses it.

A fault concerns the member whose label is its target; one whose target is no member's label (a
broker, "" for all) concerns everybody. A fault that kills has no end: it lasts until a member of
that label starts again.
"""

from collections import Counter
from collections.abc import Collection
from enum import StrEnum
from math import inf
from typing import ClassVar, Final

from kgroup.journal.events import Entry, Event, FaultStep, MemberStarted, Phase, Source

KEPT: Final = frozenset({"HOLD", "BLACKHOLE"})
"""Faults by which a request is kept on its way, and arrives all the same."""

LETHAL: Final = frozenset({"KILL", "RESTART", "SIGKILL"})
"""Faults after which the present life of their target writes nothing more."""

STANDING: Final = frozenset({"FREEZE", "SIGSTOP"})
"""Faults while which their target does nothing, not even look at its clock."""


class Faults:
    """Follows faults; show it every entry of its kinds, in order of time.

    Args:
        lethal: names of the faults that kill.
    """

    KINDS: ClassVar[frozenset[type[Event]]] = frozenset({FaultStep, MemberStarted})
    """Events it follows; no other needs to be shown."""

    __slots__ = ("_dead", "_ended", "_lethal", "_lives", "_open", "_times")

    def __init__(self, lethal: Collection[str] = LETHAL) -> None:
        self._lethal = frozenset(lethal)
        self._lives: dict[str, Source] = {}
        self._dead: dict[Source, None] = {}
        self._open: dict[tuple[str, str], float] = {}
        self._times: Counter[tuple[str, str]] = Counter()
        self._ended: dict[str, float] = {}

    def observe(self, entry: Entry) -> None:
        """Take one entry."""
        event = entry.event
        if isinstance(event, MemberStarted):
            member = entry.source.member
            self._lives[member] = entry.source
            for key in [key for key in self._open if key[1] == member and key[0] in self._lethal]:
                self._close(key, entry.at)
        elif isinstance(event, FaultStep):
            self._struck(entry, event)

    def calm_since(self, member: str | None = None) -> float:
        """Return the instant since when nothing concerns a member.

        Args:
            member: its label; None for anybody, where the dead count for nothing.

        Returns:
            Minus infinity when nothing ever did, infinity while something does.
        """
        calm = -inf
        for (fault, target), began in self._open.items():
            if member is None and fault in self._lethal:
                calm = max(calm, began)
            elif member is None or self._concerns(target, member):
                return inf
        for target, ended in self._ended.items():
            if member is None or self._concerns(target, member):
                calm = max(calm, ended)
        return calm

    def is_dead(self, source: Source) -> bool:
        """Tell whether this life was killed."""
        return source in self._dead

    def _concerns(self, target: str, member: str) -> bool:
        return target == member or target not in self._lives

    def _struck(self, entry: Entry, event: FaultStep) -> None:
        key = (event.fault, event.target)
        if event.fault in self._lethal:
            if event.phase is Phase.BEGIN and event.target in self._lives:
                self._open[key] = entry.at
                self._dead[self._lives[event.target]] = None
        elif event.phase is Phase.BEGIN:
            self._times[key] += 1
            self._open[key] = entry.at
        else:
            self._times[key] -= 1
            if self._times[key] <= 0:
                self._close(key, entry.at)

    def _close(self, key: tuple[str, str], at: float) -> None:
        self._open.pop(key, None)
        self._times.pop(key, None)
        self._ended[key[1]] = at


# -- causes ----------------------------------------------------------------------------------------
#
# What the event log calls the causes of a change of state, as far as something is judged by them.
#
# Decides: the words, each in one place: an oracle that asks for a word that is not written any more
# judges nothing, and nobody notices.
# Never: is the whole vocabulary; a member's table has more triggers. Each word here is the one of
# the trigger of the same name there, which a test compares: this room stands below the table's.


class StateCause(StrEnum):
    """Causes of a `StateChanged`; equal to the text in the event."""

    # the application, and this member's own bookkeeping
    UNSUBSCRIBED = "unsubscribed"
    COORDINATOR_LOST = "coordinator lost"
    HANDED_BACK = "everything handed back"
    # replies
    MEMBER_ID_GIVEN = "member id given"
    ELECTED = "joined as leader"
    ELECTED_UNASKED = "joined as leader, nothing to assign"
    JOINED = "joined as follower"
    SYNCED = "synced"
    ASSIGNMENT_UNREADABLE = "assignment unreadable"
    REJOIN_ASKED = "rejoin asked"
    RETRY_LATER = "retry later"
    GENERATION_LOST_IN_ROUND = "generation refused"
    MEMBER_LOST_IN_ROUND = "member refused"
    LEAVE_ENDED = "leave ended"
    ROUND_NOT_PERMITTED = "the round is not permitted"
    REFUSED = "refused for good"
    FENCED = "fenced"
    # what heartbeats and commits tell beside the round
    REBALANCE_SIGNALLED = "rebalance signalled"
    GENERATION_LOST = "generation stale"
    MEMBER_LOST = "expelled"
    NOT_PERMITTED = "not permitted"
    # timers
    LEASE_EXPIRED = "lease expired"
    POLL_EXPIRED = "poll interval over"
    CLOSE_LIMIT = "close limit"
    RELEASE_LIMIT = "release limit"
