"""The life of one key as a table, and the phases, triggers, guards and actions it is written in.

Decides: what each thing that happens to a key leads to, in each phase; which triggers can reach a
    key in which phase (`POSSIBLE`).
Never: what an action does, or when a guard holds (both: `key_actions`).

A member believes only what it has read back: the log alone moves a key towards OWNED, and the log
or the clock alone takes it away. The answer to a write shortens waits, no more.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.machine.rows import Table, fan
from kgroup.words import Word


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
    EXPIRED = "claim expired"


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
    PROVE = "the claim lives on from its sending"
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
            {_T.TAKEN, _T.LOG_LOST, _T.LOCATED, _T.UNLOCATED, _T.LOCATE_DUE, _T.EXPIRED},
        ),
        _P.CONFIRMING: frozenset(
            {_T.COUNTED, _T.VOID, _T.TAKEN, _T.LOG_LOST, _T.EXPIRED}
            | {_T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.BEAT_DUE},
        ),
        _P.OWNED: frozenset(
            {_T.REWOUND, _T.GIVEN_UP, _T.COUNTED, _T.VOID, _T.TAKEN, _T.LOG_LOST}
            | {_T.BEAT_DUE, _T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.EXPIRED},
        ),
        _P.RELEASING: frozenset(
            {_T.COUNTED, _T.VOID, _T.RELEASED, _T.TAKEN, _T.LOG_LOST}
            | {_T.BEAT_DUE, _T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.EXPIRED},
        ),
    }
)
"""Everything else is dropped before the table: it comes too late, and changes nothing."""


# -- key rows --------------------------------------------------------------------------------------


_G = KeyGuard
_A = KeyAction

_OURS: Final = (_P.LOCATING, _P.CONFIRMING, _P.OWNED, _P.RELEASING)

KEY_ROWS: Final[Table[KeyPhase, KeyTrigger, KeyGuard, KeyAction]] = Table(
    (
        # without an owner, or another member's
        fan(_P.IDLE, _T.TRY, to=_P.PAUSING, do=(_A.PAUSE,), why="all waiters see the same second"),
        fan((_P.IDLE, _P.PAUSING), (_T.TAKEN, _T.LOG_LOST), to=_P.IDLE),
        fan(_P.PAUSING, _T.DROP, to=_P.IDLE),
        fan(_P.PAUSING, _T.CLAIM_DUE, to=_P.CLAIMING, when=_G.FREE, do=(_A.SEND_CLAIM,)),
        fan(_P.PAUSING, _T.CLAIM_DUE, to=_P.IDLE, when=_G.NOT_FREE, why="somebody was faster"),
        fan(
            (_P.IDLE, _P.PAUSING),
            _T.ACCEPTED,
            to=_P.LOCATING,
            do=(_A.TAKE_EPOCH, _A.FIND_POSITION),
            why="a claim that was given up has arrived after all; nobody else can have it now",
        ),
        # a claim is on its way
        fan(
            _P.CLAIMING,
            _T.ACCEPTED,
            to=_P.LOCATING,
            when=_G.SEEKS_POSITION,
            do=(_A.TAKE_EPOCH, _A.FIND_POSITION),
            why="even if it is not wanted any more: a release carries a position",
        ),
        fan(
            _P.CLAIMING,
            _T.ACCEPTED,
            to=_P.CONFIRMING,
            when=_G.KNOWS_POSITION,
            do=(_A.TAKE_EPOCH, _A.SEND_BEAT),
            why="the position that was committed is the one to go back to",
        ),
        fan(
            _P.CLAIMING,
            (_T.REFUSED, _T.TAKEN, _T.WRITE_REFUSED, _T.WRITE_LIMIT, _T.LOG_LOST),
            to=_P.IDLE,
            do=(_A.LOSE, _A.FORGET, _A.BACK_OFF),
        ),
        # ours in the log, not in hand yet
        fan(
            _P.LOCATING,
            _T.LOCATED,
            to=_P.CONFIRMING,
            when=_G.WANTED,
            do=(_A.BEGIN_AT, _A.SEND_BEAT),
        ),
        fan(
            _P.LOCATING,
            _T.LOCATED,
            to=_P.RELEASING,
            when=_G.UNWANTED,
            do=(_A.BEGIN_AT, _A.SEND_RELEASE),
            why="not even a heartbeat: the group is paused, or something else is asked for",
        ),
        fan(
            _P.LOCATING,
            _T.UNLOCATED,
            when=_G.WANTED,
            do=(_A.LOCATE_LATER,),
            why="the claim lasts; most members that could not tell can a moment later",
        ),
        fan(
            _P.LOCATING,
            _T.UNLOCATED,
            to=_P.IDLE,
            when=_G.UNWANTED,
            do=(_A.FORGET, _A.BACK_OFF),
            why="there is no position that a release could carry; the claim runs out",
        ),
        fan(_P.LOCATING, _T.LOCATE_DUE, do=(_A.FIND_POSITION,)),
        fan(
            _P.CONFIRMING,
            _T.COUNTED,
            to=_P.OWNED,
            when=_G.WANTED,
            do=(_A.PROVE, _A.OWN),
        ),
        fan(
            _P.CONFIRMING,
            _T.COUNTED,
            to=_P.RELEASING,
            when=_G.UNWANTED,
            do=(_A.PROVE, _A.LOSE, _A.SEND_RELEASE),
        ),
        fan(_P.CONFIRMING, _T.WRITE_REFUSED, do=(_A.BEAT_LATER,)),
        fan(_P.CONFIRMING, (_T.WRITE_LIMIT, _T.BEAT_DUE), do=(_A.SEND_BEAT,)),
        # ours
        fan(_P.OWNED, _T.COUNTED, do=(_A.PROVE,)),
        fan(_P.OWNED, (_T.BEAT_DUE, _T.WRITE_LIMIT), do=(_A.SEND_BEAT,)),
        fan(_P.OWNED, _T.WRITE_REFUSED, do=(_A.BEAT_LATER,)),
        fan(
            _P.OWNED,
            _T.REWOUND,
            to=_P.RELEASING,
            do=(_A.SEND_RELEASE,),
            why="under one claim a position goes forward only; only a release takes it back",
        ),
        fan(
            _P.OWNED,
            _T.GIVEN_UP,
            to=_P.RELEASING,
            when=_G.RELEASES,
            do=(_A.SEND_RELEASE,),
        ),
        fan(
            _P.OWNED,
            _T.GIVEN_UP,
            to=_P.RELEASING,
            when=_G.REMAINS,
            do=(_A.SEND_BEAT,),
            why="a process that starts again soon resumes it",
        ),
        # given up
        fan(
            _P.RELEASING,
            _T.COUNTED,
            when=_G.RELEASES,
            do=(_A.SEND_RELEASE,),
            why="one write of a key at a time: the heartbeat before it is settled now",
        ),
        fan(_P.RELEASING, _T.COUNTED, to=_P.IDLE, when=_G.REMAINS, do=(_A.FORGET,)),
        fan(
            _P.RELEASING,
            (_T.WRITE_LIMIT, _T.BEAT_DUE),
            when=_G.RELEASES,
            do=(_A.SEND_RELEASE,),
            why="a release counts however often it is written",
        ),
        fan(
            _P.RELEASING,
            (_T.WRITE_LIMIT, _T.BEAT_DUE),
            when=_G.REMAINS,
            do=(_A.SEND_BEAT,),
        ),
        fan(_P.RELEASING, _T.WRITE_REFUSED, do=(_A.BEAT_LATER,)),
        fan(
            _P.RELEASING,
            _T.RELEASED,
            to=_P.CLAIMING,
            when=_G.REWINDS,
            do=(_A.SEND_CLAIM,),
        ),
        fan(
            _P.RELEASING,
            _T.RELEASED,
            to=_P.IDLE,
            when=_G.ENDS,
            do=(_A.FORGET, _A.COOL_DOWN),
        ),
        # gone
        fan(
            _OURS,
            (_T.TAKEN, _T.LOG_LOST, _T.EXPIRED),
            to=_P.IDLE,
            do=(_A.LOSE, _A.FORGET, _A.BACK_OFF),
        ),
        fan(
            (_P.CONFIRMING, _P.OWNED, _P.RELEASING),
            _T.VOID,
            to=_P.IDLE,
            do=(_A.LOSE, _A.FORGET, _A.BACK_OFF),
            why="the log has it that this member is not the owner",
        ),
    )
)
"""Every row of a key; the coverage theorem holds for it."""
