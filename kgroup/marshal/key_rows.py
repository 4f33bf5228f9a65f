"""The life of one key as a table.

Decides: what each thing that happens to a key leads to, in each phase.
Never: what an action does (`key_actions`), or when a guard holds (`guards`).

Nothing is believed before it was read back: only what the log says moves a key towards OWNED, and
only the log or the clock takes it away. What was answered to a write shortens waits, no more.
"""

from typing import Final

from kgroup.machine.rows import Table, fan
from kgroup.marshal.phases import KeyAction, KeyGuard, KeyPhase, KeyTrigger

__all__ = ["KEY_ROWS"]

_P = KeyPhase
_T = KeyTrigger
_G = KeyGuard
_A = KeyAction

_OURS: Final = (_P.LOCATING, _P.CONFIRMING, _P.OWNED, _P.RELEASING)

KEY_ROWS: Final[Table[KeyPhase, KeyTrigger, KeyGuard, KeyAction]] = Table(
    (
        # nobody's, or somebody else's
        fan(_P.IDLE, _T.TRY, to=_P.PAUSING, do=(_A.PAUSE,), why="all who wait see the same second"),
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
            why="the claim lasts; most who could not tell can a moment later",
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
            (_T.TAKEN, _T.LOG_LOST, _T.LEASE_OVER),
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
