"""The closed sets the rows of a key are written in: phases, triggers, guards, actions.

Decides: the vocabulary; which triggers can reach a key in which phase.
Never: what a trigger does; the rows say that.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.words import Word

__all__ = ["POSSIBLE", "KeyAction", "KeyGuard", "KeyPhase", "KeyTrigger"]


class KeyPhase(Word):
    """Where one partition stands for one member."""

    IDLE = "not asked for"
    PAUSING = "about to claim"
    CLAIMING = "claim written"
    LOCATING = "claim accepted"
    CONFIRMING = "first heartbeat written"
    OWNED = "owned"
    RELEASING = "release written"


class KeyTrigger(Word):
    """What can happen to a key."""

    # this member's own plan, and its application
    TRY = "worth a claim"
    DROP = "not worth a claim any more"
    REWOUND = "a lower position is committed"
    GIVEN_UP = "handed back"
    # what was read: of this process, then of anybody else
    ACCEPTED = "own claim accepted"
    REFUSED = "own claim refused"
    COUNTED = "own heartbeat counted"
    VOID = "own message void"
    RELEASED = "own release counted"
    TAKEN = "somebody else has it"
    LOG_LOST = "the log is not what it was"
    # replies
    LOCATED = "position found"
    UNLOCATED = "no position"
    WRITE_REFUSED = "not written"
    # timers
    CLAIM_DUE = "claim due"
    LOCATE_DUE = "position to be asked for again"
    BEAT_DUE = "heartbeat due"
    WRITE_LIMIT = "not read back in time"
    LEASE_OVER = "lease over"


class KeyGuard(Word):
    """What must hold for a row to fire; of each family exactly one does."""

    FREE = "still free, still wanted"
    NOT_FREE = "not free, or not wanted"

    WANTED = "wanted"
    UNWANTED = "not wanted"

    KNOWS_POSITION = "its position is known"
    SEEKS_POSITION = "its position is not known"

    REWINDS = "on its way back to a lower position"
    ENDS = "given up for good"

    RELEASES = "to be released"
    REMAINS = "to be left as it is"


class KeyAction(Word):
    """What a row does."""

    PAUSE = "wait a moment, at random"
    SEND_CLAIM = "write a claim"
    TAKE_EPOCH = "the offset of the claim is the epoch"
    FIND_POSITION = "find out where to begin"
    LOCATE_LATER = "ask for it again soon"
    BEGIN_AT = "begin at the position found"
    SEND_BEAT = "write a heartbeat"
    PROVE = "count the lease from its sending"
    OWN = "own it, tell the listener"
    SEND_RELEASE = "write a release"
    LOSE = "lose it, tell the listener"
    FORGET = "forget the claim"
    BACK_OFF = "try again later"
    COOL_DOWN = "leave it to others for a while"
    BEAT_LATER = "write again soon"


_P = KeyPhase
_T = KeyTrigger

_HEARD: Final = frozenset({_T.ACCEPTED, _T.TAKEN, _T.LOG_LOST})
"""A claim that was given up can be accepted yet: a broker took it after its time."""

POSSIBLE: Final[Mapping[KeyPhase, frozenset[KeyTrigger]]] = MappingProxyType(
    {
        _P.IDLE: _HEARD | {_T.TRY},
        _P.PAUSING: _HEARD | {_T.DROP, _T.CLAIM_DUE},
        _P.CLAIMING: _HEARD | {_T.REFUSED, _T.WRITE_REFUSED, _T.WRITE_LIMIT},
        _P.LOCATING: frozenset(
            {_T.TAKEN, _T.LOG_LOST, _T.LOCATED, _T.UNLOCATED, _T.LOCATE_DUE, _T.LEASE_OVER},
        ),
        _P.CONFIRMING: frozenset(
            {_T.COUNTED, _T.VOID, _T.TAKEN, _T.LOG_LOST, _T.LEASE_OVER}
            | {_T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.BEAT_DUE},
        ),
        _P.OWNED: frozenset(
            {_T.REWOUND, _T.GIVEN_UP, _T.COUNTED, _T.VOID, _T.TAKEN, _T.LOG_LOST}
            | {_T.BEAT_DUE, _T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.LEASE_OVER},
        ),
        _P.RELEASING: frozenset(
            {_T.COUNTED, _T.VOID, _T.RELEASED, _T.TAKEN, _T.LOG_LOST}
            | {_T.BEAT_DUE, _T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.LEASE_OVER},
        ),
    }
)
"""Everything else is dropped before the table: it comes too late, and changes nothing."""
