"""Rows of ending: lost, fenced and refused memberships, leaving, and the heartbeats meanwhile.

Decides: what ends ownership, and how a member goes.
Never: how it comes back into a round; `joining_rows` has that.
KIPs: 62, 345.
"""

from typing import Final

from kgroup.machine.rows import Table, fan
from kgroup.membership.joining_rows import JOINING_ROWS, LOSE_GENERATION, LOSE_MEMBER
from kgroup.membership.settings import MEMBER, Rules
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.types import MemberState

_S = MemberState
_T = Trigger
_G = Guard
_A = Action

_LOST: Final[Rules] = (
    fan(
        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING),
        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),
        to=_S.FINDING,
        do=(*LOSE_GENERATION, _A.SEEK_COORDINATOR),
        why="lost: nothing may be committed; the member id is kept",
    ),
    fan(
        _S.STABLE,
        _T.GENERATION_LOST,
        to=_S.FINDING,
        do=(*LOSE_GENERATION, _A.SEEK_COORDINATOR),
        why="lost: nothing may be committed; the member id is kept",
    ),
    fan(
        _S.STABLE,
        _T.LEASE_EXPIRED,
        to=_S.FINDING,
        when=_G.ENDS,
        do=(*LOSE_GENERATION, _A.SEEK_COORDINATOR),
        why="lost: nothing may be committed; the member id is kept",
    ),
    fan(
        _S.STABLE,
        _T.LEASE_EXPIRED,
        to=_S.FINDING,
        when=_G.LAPSES,
        do=(_A.LAPSE, _A.SEEK_COORDINATOR),
        why="as aiokafka: a coordinator that was away may still know the generation",
    ),
    fan(
        (_S.PREPARING, _S.ASSIGNING, _S.SYNCING, _S.STABLE),
        _T.MEMBER_LOST,
        to=_S.FINDING,
        do=(*LOSE_MEMBER, _A.SEEK_COORDINATOR),
        why="lost: the coordinator does not know the member id",
    ),
    fan(
        _S.JOINING,
        _T.GENERATION_LOST,
        why="1. JoinGroup parked; 2. the round completes; 3. a heartbeat of the old generation "
        "is refused; 4. the JoinGroup answer arrives",
    ),
    fan(
        _S.JOINING,
        _T.LEASE_EXPIRED,
        do=LOSE_GENERATION,
        why="the JoinGroup in flight will be answered by itself",
    ),
    fan(
        _S.JOINING,
        _T.MEMBER_LOST,
        do=LOSE_MEMBER,
        why="likewise; if that answer is lost, the next JoinGroup must not name a dead id",
    ),
    fan(
        (_S.FINDING, _S.BACKING_OFF),
        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),
        do=LOSE_GENERATION,
    ),
    fan((_S.FINDING, _S.BACKING_OFF), _T.MEMBER_LOST, do=LOSE_MEMBER),
    fan(
        _S.RELEASING,
        (_T.GENERATION_LOST, _T.LEASE_EXPIRED),
        do=LOSE_GENERATION,
    ),
    fan(_S.RELEASING, _T.MEMBER_LOST, do=LOSE_MEMBER),
    fan(
        MEMBER,
        _T.POLL_EXPIRED,
        to=_S.DORMANT,
        when=_G.DYNAMIC,
        do=(_A.LOSE_ALL, _A.SEND_FAREWELL, _A.FORGET_MEMBER),
        why="KIP-62: a dynamic member leaves",
    ),
    fan(
        MEMBER,
        _T.POLL_EXPIRED,
        to=_S.DORMANT,
        when=_G.STATIC,
        do=LOSE_GENERATION,
        why="KIP-345: a static member falls silent",
    ),
)

_REFUSED_FOR_NOW: Final[Rules] = (
    fan(
        MEMBER,
        _T.NOT_PERMITTED,
        do=(_A.COMPLAIN,),
        why="asked again by itself; without a confirmed session partitions are lost by the clock",
    ),
    fan(_S.RELEASING, _T.NOT_PERMITTED, why="on its way out of the group; no record is read"),
)

_FATAL: Final[Rules] = (
    fan(
        MEMBER,
        _T.FENCED,
        to=_S.FENCED,
        do=(*LOSE_MEMBER, _A.RAISE),
        why="KIP-345: nothing is delivered after it, nothing is retried",
    ),
    fan(MEMBER, _T.REFUSED, to=_S.FAILED, do=(*LOSE_MEMBER, _A.RAISE)),
    fan(
        _S.RELEASING,
        (_T.FENCED, _T.REFUSED),
        when=_G.CLOSING,
        do=LOSE_MEMBER,
        why="it ends all the same, and sends no LeaveGroup: its place may be another process's",
    ),
    fan(
        _S.RELEASING,
        _T.FENCED,
        to=_S.FENCED,
        when=_G.NOT_CLOSING,
        do=(*LOSE_MEMBER, _A.RAISE),
        why="subscribing again must not fence the twin back",
    ),
    fan(
        _S.RELEASING,
        _T.REFUSED,
        to=_S.FAILED,
        when=_G.NOT_CLOSING,
        do=(*LOSE_MEMBER, _A.RAISE),
    ),
)

_LEAVING: Final[Rules] = (
    fan(
        _S.RELEASING,
        _T.CLOSE_LIMIT,
        to=_S.LEAVING,
        do=(_A.LOSE_ALL, _A.SEND_LEAVE),
        why="close() has a deadline; a listener that hangs does not move it",
    ),
    fan(
        _S.RELEASING,
        _T.RELEASE_LIMIT,
        to=_S.LEAVING,
        do=(_A.STOP_WAITING, _A.LOSE_ALL, _A.SEND_LEAVE),
        why="with heartbeats and a listener that hangs its partitions would be nobody's for ever",
    ),
    fan(
        _S.LEAVING,
        _T.COORDINATOR_READY,
        do=(_A.SEND_LEAVE,),
        why="it was being looked for when everything was handed back",
    ),
    fan(_S.LEAVING, _T.CLOSE_LIMIT, to=_S.LEFT, do=(_A.FORGET_MEMBER, _A.FINISH)),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.LEFT,
        when=_G.CLOSING,
        do=(_A.FORGET_MEMBER, _A.FINISH),
    ),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.FINDING,
        when=_G.WANTS_JOIN,
        do=(_A.GO, _A.SEEK_COORDINATOR),
    ),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.UNSUBSCRIBED,
        when=_G.WANTS_NOTHING,
        do=(_A.GO,),
        why="a static member sends no LeaveGroup, so it may come back to what it had (KIP-345)",
    ),
)

_HEARTBEATS: Final[Rules] = (
    fan(
        (
            _S.PREPARING,
            _S.JOINING,
            _S.ASSIGNING,
            _S.SYNCING,
            _S.STABLE,
            _S.BACKING_OFF,
            _S.RELEASING,
        ),
        _T.HEARTBEAT_DUE,
        do=(_A.SEND_HEARTBEAT,),
        why="also while JoinGroup is parked: on a connection of their own",
    ),
)

ENDING_ROWS: Final[Rules] = (*_LOST, *_REFUSED_FOR_NOW, *_FATAL, *_LEAVING, *_HEARTBEATS)


# -- rows ------------------------------------------------------------------------------------------
#
# The table of the classic protocol: every transition of a member.
#
# Decides: what a member does about everything that can happen to it.
# Never: how an action is carried out (`actions`), or which trigger an answer is (`translate`).
# KIPs: 62, 345, 394, 429, 568, 800, 814. `docs/rebalance.md` is generated from these rows.
#
# How to read it: a round goes FINDING, JOINING, (ASSIGNING,) SYNCING, STABLE. Whatever asks for a
# round leads to PREPARING when something must be handed back first, else to FINDING, which passes
# on at once when the coordinator is known. Lost partitions end at once; revoked ones are drained.


ROWS = Table((*JOINING_ROWS, *ENDING_ROWS))
"""Every transition of a classic member."""
