"""The table of KIP-848: every transition of a member.

Decides: what a member does about everything that can happen to it.
Never: how an action is carried out (`actions`), or which trigger an answer is (`translate`).
KIPs: 62, 345, 848, 1082. A page of the documentation is generated from these rows.

How to read it: a member goes FINDING, JOINING, RECONCILING, STABLE. An assignment takes it back to
RECONCILING. A coordinator that is lost moves nothing of that: the next heartbeat goes to the next
one, and says everything. Lost partitions end at once; revoked ones are drained.
"""

from typing import Final

from kgroup.consumer_group.triggers import Action, Guard, Trigger
from kgroup.machine.rows import Row, Table, fan
from kgroup.types import MemberState

Rules = tuple[tuple[Row[MemberState, Trigger, Guard, Action], ...], ...]

_S = MemberState
_T = Trigger
_G = Guard
_A = Action

_OUT: Final = (_S.FINDING, _S.PREPARING, _S.JOINING, _S.BACKING_OFF)
"""On the way in: nothing is owned."""
_IN: Final = (_S.RECONCILING, _S.STABLE)
_MEMBER: Final = (*_OUT, *_IN)
_ENDED: Final = (_S.LEFT, _S.FENCED, _S.FAILED)
_SEEK: Final = (_A.SEEK_COORDINATOR,)
_LOSE_EPOCH: Final = (_A.LOSE_ALL, _A.FORGET_EPOCH)
_LOSE_PLACE: Final = (_A.LOSE_ALL, _A.FORGET_PLACE)

_APPLICATION: Final[Rules] = (
    fan(_S.UNSUBSCRIBED, _T.SUBSCRIBED, to=_S.FINDING, do=_SEEK),
    fan(_OUT, _T.SUBSCRIBED, why="the join to come says it, or the heartbeat after it"),
    fan(
        _IN,
        _T.SUBSCRIBED,
        to=_S.RECONCILING,
        do=(_A.DROP_TOPICS, _A.BEAT_SOON),
        why="the coordinator answers everything with everything, so no assignment is missed",
    ),
    fan((_S.RELEASING, _S.LEAVING), _T.SUBSCRIBED, why="remembered: joins after it has left"),
    fan((_S.DORMANT, *_ENDED), _T.SUBSCRIBED),
    fan(
        _MEMBER,
        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),
        to=_S.RELEASING,
        do=(_A.RELEASE_ALL,),
        why="everything is handed back before the member goes",
    ),
    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),
    fan(_S.DORMANT, _T.CLOSE_REQUESTED, to=_S.RELEASING, do=(_A.RELEASE_ALL,)),
    fan((_S.UNSUBSCRIBED, _S.RELEASING, _S.LEAVING, *_ENDED), _T.UNSUBSCRIBED),
    fan((_S.RELEASING, _S.LEAVING), _T.CLOSE_REQUESTED, why="remembered: ends when it has left"),
    fan((_S.UNSUBSCRIBED, *_ENDED), _T.CLOSE_REQUESTED, to=_S.LEFT, do=(_A.FINISH,)),
    fan(_S.DORMANT, _T.POLL_RESUMED, to=_S.FINDING, do=_SEEK, why="KIP-62"),
)

_JOINING: Final[Rules] = (
    fan(
        _S.FINDING,
        _T.COORDINATOR_READY,
        to=_S.PREPARING,
        when=_G.STILL_REVOKING,
        do=(_A.AWAIT_LISTENER,),
        why="a member that says it owns nothing would hand over what the listener still works on",
    ),
    fan(_S.FINDING, _T.COORDINATOR_READY, to=_S.JOINING, when=_G.JOINS_NOW, do=(_A.SEND_JOIN,)),
    fan(
        _S.FINDING,
        _T.COORDINATOR_READY,
        to=_S.BACKING_OFF,
        when=_G.JOINS_LATER,
        do=(_A.KEEP_PACE,),
        why="a coordinator may refuse each epoch that it has just given",
    ),
    fan(_S.PREPARING, _T.HANDED_BACK, to=_S.FINDING, do=_SEEK),
    fan(
        _S.PREPARING,
        _T.RELEASE_LIMIT,
        do=(_A.STOP_WAITING,),
        why="on_revoked hangs, or cannot be cut off; the group goes on, so this member may",
    ),
    fan(_S.JOINING, _T.JOINED, to=_S.RECONCILING, do=(_A.RECONCILE,)),
    fan(_S.JOINING, _T.RETRY_LATER, to=_S.BACKING_OFF, do=(_A.BACK_OFF,)),
    fan(
        _S.JOINING,
        _T.INSTANCE_UNRELEASED,
        to=_S.BACKING_OFF,
        do=(_A.AWAIT_INSTANCE, _A.BACK_OFF),
        why="the other one may be dead, and its session end; it is disturbed by nothing",
    ),
    fan(
        _S.JOINING,
        _T.EPOCH_LOST,
        to=_S.FINDING,
        when=_G.KNOWN,
        do=(*_LOSE_EPOCH, _A.SEEK_COORDINATOR),
        why="expelled meanwhile: joins with epoch 0, under the same id",
    ),
    fan(
        _S.JOINING,
        _T.EPOCH_LOST,
        to=_S.BACKING_OFF,
        when=_G.UNKNOWN,
        do=(_A.BACK_OFF,),
        why="nothing can be said that is less; what is known under the id ends with its session",
    ),
    fan(
        _S.JOINING,
        _T.NOT_PERMITTED,
        to=_S.BACKING_OFF,
        do=(_A.COMPLAIN, _A.BACK_OFF_LONGEST),
        why="the right may be granted",
    ),
    fan(
        _S.JOINING,
        _T.COORDINATOR_LOST,
        to=_S.FINDING,
        do=_SEEK,
        why="the next join says the same: a coordinator that heard this one accepts it twice",
    ),
    fan(_S.BACKING_OFF, _T.BACKOFF_OVER, to=_S.FINDING, do=_SEEK),
)

_RECONCILING: Final[Rules] = (
    fan(
        _IN,
        _T.ASSIGNED,
        to=_S.RECONCILING,
        do=(_A.RECONCILE,),
        why="what is missing in it is revoked first; what is new waits for that",
    ),
    fan(
        _S.RECONCILING,
        _T.TOPICS_NAMED,
        do=(_A.RECONCILE,),
        why="assignments name topics by their ids",
    ),
    fan(
        _S.RECONCILING,
        _T.RECONCILED,
        do=(_A.TAKE,),
        why="acknowledged by a heartbeat at once: others wait for what was revoked",
    ),
    fan(_S.RECONCILING, _T.CONFIRMED, to=_S.STABLE, when=_G.SETTLED),
    fan(_S.RECONCILING, _T.CONFIRMED, when=_G.UNSETTLED),
    fan(_S.STABLE, _T.CONFIRMED),
    fan(
        _IN,
        _T.EPOCH_STALE,
        do=(_A.BEAT_SOON,),
        why="a commit was refused for its epoch: the heartbeat's answer has the new one",
    ),
    fan(
        (*_IN, _S.RELEASING),
        _T.DRAIN_LIMIT,
        do=(_A.CUT_DRAINS,),
        why="a batch in hand may be delivered again; others may not wait for ever",
    ),
    fan((*_IN, _S.RELEASING), _T.HEARTBEAT_DUE, do=(_A.SEND_HEARTBEAT,)),
)

_LOST: Final[Rules] = (
    fan(
        _IN,
        _T.EPOCH_LOST,
        to=_S.FINDING,
        do=(*_LOSE_EPOCH, _A.SEEK_COORDINATOR),
        why="lost: nothing may be committed; joins with epoch 0, under the same id",
    ),
    fan(
        _IN,
        _T.LEASE_EXPIRED,
        to=_S.FINDING,
        do=(_A.LOSE_ALL, _A.SEEK_COORDINATOR),
        why="lost by the clock; the coordinator may not have noticed, so the epoch is kept",
    ),
    fan(_S.RELEASING, _T.EPOCH_LOST, do=_LOSE_EPOCH),
    fan(_S.RELEASING, _T.LEASE_EXPIRED, do=(_A.LOSE_ALL,)),
    fan(
        _MEMBER,
        _T.POLL_EXPIRED,
        to=_S.DORMANT,
        do=(_A.LOSE_ALL, _A.SEND_FAREWELL, _A.FORGET_PLACE),
        why="KIP-62: it leaves; a static member says that it may come back (KIP-345)",
    ),
    fan(
        (_S.FINDING, _S.PREPARING, _S.BACKING_OFF, *_IN),
        _T.NOT_PERMITTED,
        do=(_A.COMPLAIN,),
        why="asked again by itself; without a confirmed session partitions are lost by the clock",
    ),
    fan(_S.RELEASING, _T.NOT_PERMITTED, why="on its way out of the group; no record is read"),
    fan(
        (_S.JOINING, *_IN),
        _T.FENCED,
        to=_S.FENCED,
        do=(*_LOSE_PLACE, _A.RAISE),
        why="KIP-345: nothing is delivered after it, nothing is retried",
    ),
    fan(_MEMBER, _T.REFUSED, to=_S.FAILED, do=(*_LOSE_PLACE, _A.RAISE)),
    fan(
        _S.RELEASING,
        (_T.FENCED, _T.REFUSED),
        when=_G.CLOSING,
        do=_LOSE_PLACE,
        why="it ends all the same, and says nothing more: its place may be another process's",
    ),
    fan(
        _S.RELEASING,
        _T.FENCED,
        to=_S.FENCED,
        when=_G.NOT_CLOSING,
        do=(*_LOSE_PLACE, _A.RAISE),
    ),
    fan(
        _S.RELEASING,
        _T.REFUSED,
        to=_S.FAILED,
        when=_G.NOT_CLOSING,
        do=(*_LOSE_PLACE, _A.RAISE),
    ),
)

_LEAVING: Final[Rules] = (
    fan(_S.RELEASING, _T.HANDED_BACK, to=_S.LEAVING, do=(_A.SEND_LEAVE,)),
    fan(
        _S.RELEASING,
        (_T.ASSIGNED, _T.CONFIRMED, _T.EPOCH_STALE),
        why="on its way out: nothing is taken",
    ),
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
    fan(_S.LEAVING, _T.CLOSE_LIMIT, to=_S.LEFT, do=(_A.FORGET_PLACE, _A.FINISH)),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.LEFT,
        when=_G.CLOSING,
        do=(_A.FORGET_PLACE, _A.FINISH),
    ),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.FINDING,
        when=_G.WANTS_JOIN,
        do=(_A.FORGET_PLACE, _A.SEEK_COORDINATOR),
    ),
    fan(
        _S.LEAVING,
        _T.LEAVE_ENDED,
        to=_S.UNSUBSCRIBED,
        when=_G.WANTS_NOTHING,
        do=(_A.FORGET_PLACE,),
    ),
)

ROWS = Table((*_APPLICATION, *_JOINING, *_RECONCILING, *_LOST, *_LEAVING))
"""Every transition of a member of a KIP-848 group."""
