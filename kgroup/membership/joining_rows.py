"""Rows of joining: what the application asks for, the round, and what asks for another one.

Decides: the way from subscribing to an adopted assignment, and back into a round.
Never: what ends ownership; `ending_rows` has that.
KIPs: 345, 394, 429, 568, 800, 814.
"""

from typing import Final

from kgroup.machine.rows import fan
from kgroup.membership.settings import MEMBER, Rules
from kgroup.membership.triggers import Action, Guard, Trigger
from kgroup.types import MemberState

_S = MemberState
_T = Trigger
_G = Guard
_A = Action

_ROUNDS: Final = (_S.JOINING, _S.ASSIGNING, _S.SYNCING)
_ENDED: Final = (_S.LEFT, _S.FENCED, _S.FAILED)
_ANOTHER_ROUND: Final = (
    _T.SUBSCRIBED,
    _T.REBALANCE_ENFORCED,
    _T.TOPICS_CHANGED,
    _T.ROUND_OWED,
    _T.REJOIN_DUE,
)
_SEEK: Final = (_A.SEEK_COORDINATOR,)
LOSE_GENERATION: Final = (_A.LOSE_ALL, _A.FORGET_GENERATION)
LOSE_MEMBER: Final = (_A.LOSE_ALL, _A.FORGET_MEMBER)

_APPLICATION: Final[Rules] = (
    fan(_S.UNSUBSCRIBED, _T.SUBSCRIBED, to=_S.FINDING, do=_SEEK),
    fan(
        (_S.FINDING, _S.BACKING_OFF),
        _T.SUBSCRIBED,
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
        why="partitions of topics that are no longer asked for go first",
    ),
    fan((_S.FINDING, _S.BACKING_OFF), _T.SUBSCRIBED, when=_G.HANDS_NOTHING),
    fan(_S.PREPARING, _T.SUBSCRIBED, do=(_A.BEGIN_RELEASE,)),
    fan(
        _ROUNDS,
        (_T.SUBSCRIBED, _T.REBALANCE_ENFORCED),
        why="remembered: another round follows this one",
    ),
    fan(
        (_S.FINDING, _S.PREPARING, _S.JOINING, _S.SYNCING, _S.BACKING_OFF),
        _T.TOPICS_CHANGED,
        why="remembered, or said by the next JoinGroup",
    ),
    fan(
        (_S.RELEASING, _S.LEAVING),
        _T.TOPICS_CHANGED,
        why="the next leader sees it; a leader that leads on unasked knows what it assigned from",
    ),
    fan((_S.RELEASING, _S.LEAVING), _T.SUBSCRIBED, why="remembered: joins after it has left"),
    fan((_S.DORMANT, *_ENDED), _T.SUBSCRIBED),
    fan(
        _S.STABLE,
        _ANOTHER_ROUND,
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
        why="KIP-568; KIP-429 follow-up round",
    ),
    fan(
        _S.STABLE,
        _ANOTHER_ROUND,
        to=_S.FINDING,
        when=_G.HANDS_NOTHING,
        do=_SEEK,
        why="KIP-568; KIP-429 follow-up round",
    ),
    fan(
        (
            _S.UNSUBSCRIBED,
            _S.FINDING,
            _S.PREPARING,
            _S.BACKING_OFF,
            _S.DORMANT,
            _S.RELEASING,
            _S.LEAVING,
            *_ENDED,
        ),
        _T.REBALANCE_ENFORCED,
        why="no round to redo, or one is on its way",
    ),
    fan(
        MEMBER,
        (_T.UNSUBSCRIBED, _T.CLOSE_REQUESTED),
        to=_S.RELEASING,
        do=(_A.RELEASE_ALL,),
        why="everything is handed back before LeaveGroup",
    ),
    fan(_S.DORMANT, _T.UNSUBSCRIBED, to=_S.UNSUBSCRIBED),
    fan(_S.DORMANT, _T.CLOSE_REQUESTED, to=_S.RELEASING, do=(_A.RELEASE_ALL,)),
    fan((_S.UNSUBSCRIBED, _S.RELEASING, _S.LEAVING, *_ENDED), _T.UNSUBSCRIBED),
    fan((_S.RELEASING, _S.LEAVING), _T.CLOSE_REQUESTED, why="remembered: ends when it has left"),
    fan((_S.UNSUBSCRIBED, *_ENDED), _T.CLOSE_REQUESTED, to=_S.LEFT, do=(_A.FINISH,)),
    fan(_S.DORMANT, _T.POLL_RESUMED, to=_S.FINDING, do=_SEEK, why="KIP-62"),
)

_HANDING_BACK: Final[Rules] = (
    fan(_S.PREPARING, _T.HANDED_BACK, to=_S.FINDING, do=_SEEK),
    fan(_S.RELEASING, _T.HANDED_BACK, to=_S.LEAVING, do=(_A.SEND_LEAVE,)),
    fan(
        (_S.PREPARING, _S.RELEASING),
        _T.DRAIN_LIMIT,
        do=(_A.CUT_DRAINS,),
        why="a batch in hand may be delivered again; the round may not wait for ever",
    ),
    fan(
        _S.PREPARING,
        _T.RELEASE_LIMIT,
        do=(_A.STOP_WAITING,),
        why="on_revoked hangs, or cannot be cut off; the group goes on, so this member may",
    ),
)

_ROUND: Final[Rules] = (
    fan(
        _S.FINDING,
        _T.COORDINATOR_READY,
        to=_S.PREPARING,
        when=_G.STILL_REVOKING,
        do=(_A.AWAIT_LISTENER,),
        why="a JoinGroup that claims nothing would hand over what the listener still works on",
    ),
    fan(_S.FINDING, _T.COORDINATOR_READY, to=_S.JOINING, when=_G.JOINS_NOW, do=(_A.SEND_JOIN,)),
    fan(
        _S.FINDING,
        _T.COORDINATOR_READY,
        to=_S.SYNCING,
        when=_G.RESUMES,
        do=(_A.SEND_SYNC,),
        why="a generation that stands is told its assignment again; a heartbeat proves nothing",
    ),
    fan(
        _S.FINDING,
        _T.COORDINATOR_READY,
        to=_S.BACKING_OFF,
        when=_G.JOINS_LATER,
        do=(_A.KEEP_PACE,),
        why="every single rejoin is right, but a coordinator may ask for them without end",
    ),
    fan(
        (_S.JOINING, _S.SYNCING),
        _T.COORDINATOR_LOST,
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
        why="a topic was dropped while the round was on: its partitions go before the next one",
    ),
    fan(
        (_S.JOINING, _S.SYNCING),
        _T.COORDINATOR_LOST,
        to=_S.FINDING,
        when=_G.HANDS_NOTHING,
        do=_SEEK,
        why="rejoin at the next coordinator, keep member id and generation",
    ),
    fan(
        _S.JOINING,
        _T.MEMBER_ID_GIVEN,
        when=_G.IN_PACE,
        do=(*LOSE_MEMBER, _A.STORE_MEMBER_ID, _A.SEND_JOIN),
        why="KIP-394",
    ),
    fan(
        _S.JOINING,
        _T.MEMBER_ID_GIVEN,
        to=_S.BACKING_OFF,
        when=_G.OUT_OF_PACE,
        do=(*LOSE_MEMBER, _A.STORE_MEMBER_ID, _A.KEEP_PACE),
        why="KIP-394",
    ),
    fan(
        _S.JOINING,
        _T.ELECTED,
        to=_S.ASSIGNING,
        do=(_A.ENTER_GENERATION, _A.RUN_ASSIGNOR),
    ),
    fan(
        _S.JOINING,
        _T.ELECTED_UNASKED,
        to=_S.SYNCING,
        do=(_A.ENTER_GENERATION, _A.SEND_SYNC, _A.WATCH_TOPICS),
        why="KIP-814: a static leader came back; it leads but assigns nothing",
    ),
    fan(
        _S.JOINING,
        _T.JOINED,
        to=_S.SYNCING,
        do=(_A.ENTER_GENERATION, _A.SEND_SYNC, _A.LOOK_AGAIN),
    ),
    fan(_S.ASSIGNING, _T.ASSIGNOR_DONE, to=_S.SYNCING, do=(_A.SEND_SYNC,)),
    fan(
        _S.ASSIGNING,
        _T.ASSIGNOR_FAILED,
        to=_S.BACKING_OFF,
        do=(_A.NOTE_FAILURE, _A.BACK_OFF_ROUND, _A.BEAT_UNLESS_OUT),
        why="nothing was sent: the others wait in SyncGroup, and the JoinGroup to come ends that "
        "with REBALANCE_IN_PROGRESS",
    ),
    fan(
        _S.JOINING,
        _T.SUBSCRIPTION_FAILED,
        to=_S.FAILED,
        do=(_A.LOSE_ALL, _A.SEND_FAREWELL, _A.FORGET_MEMBER, _A.RAISE),
        why="bytes that a coordinator cannot read would stop the whole group: none are sent",
    ),
    fan(
        _S.SYNCING,
        _T.SYNCED,
        to=_S.STABLE,
        do=(_A.ADOPT, _A.SEND_HEARTBEAT),
        why="KIP-429; the lease counts from a heartbeat, not from the sync",
    ),
    fan(
        _S.SYNCING,
        _T.ASSIGNMENT_UNREADABLE,
        to=_S.BACKING_OFF,
        do=(_A.LOSE_ALL, _A.BACK_OFF),
        why="owns nothing, joins again",
    ),
    fan(
        (_S.JOINING, _S.SYNCING),
        _T.ROUND_NOT_PERMITTED,
        to=_S.BACKING_OFF,
        do=(_A.COMPLAIN, _A.BACK_OFF_LONGEST),
        why="the right to read the group may be granted; what is held ends by the clock",
    ),
    fan(_ROUNDS, _T.RETRY_LATER, to=_S.BACKING_OFF, do=(_A.BACK_OFF,)),
    fan(
        (_S.JOINING, _S.SYNCING),
        _T.GENERATION_LOST_IN_ROUND,
        to=_S.FINDING,
        do=(*LOSE_GENERATION, _A.SEEK_COORDINATOR),
    ),
    fan(
        (_S.JOINING, _S.SYNCING),
        _T.MEMBER_LOST_IN_ROUND,
        to=_S.FINDING,
        do=(*LOSE_MEMBER, _A.SEEK_COORDINATOR),
    ),
    fan(
        _S.BACKING_OFF,
        _T.BACKOFF_OVER,
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
        why="a topic was dropped while the round was on: its partitions go before the next one",
    ),
    fan(_S.BACKING_OFF, _T.BACKOFF_OVER, to=_S.FINDING, when=_G.HANDS_NOTHING, do=_SEEK),
)

_REJOIN: Final[Rules] = (
    fan(
        (_S.STABLE, _S.ASSIGNING),
        _T.REBALANCE_SIGNALLED,
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
        why="eager hands back everything; cooperative what it no longer subscribes to",
    ),
    fan(
        _S.ASSIGNING,
        _T.REBALANCE_SIGNALLED,
        to=_S.FINDING,
        when=_G.HANDS_NOTHING,
        do=_SEEK,
        why="KIP-429: rejoin at once, keep consuming",
    ),
    fan(
        _S.STABLE,
        _T.REBALANCE_SIGNALLED,
        when=_G.HANDING_OVER,
        why="another member was quicker; a JoinGroup that still claims what goes costs a round",
    ),
    fan(
        _S.STABLE,
        _T.REBALANCE_SIGNALLED,
        to=_S.FINDING,
        when=_G.REJOINS,
        do=_SEEK,
        why="KIP-429: rejoin at once, keep consuming",
    ),
    fan(
        _S.STABLE,
        _T.HAND_OVER_LIMIT,
        do=(_A.GO_ON_HANDING_OVER, _A.BEAT_UNLESS_OUT),
        why="all have heard of their assignment; later: a batch or a listener takes long",
    ),
    fan(
        _S.SYNCING,
        (_T.REBALANCE_SIGNALLED, _T.REJOIN_ASKED),
        to=_S.PREPARING,
        when=_G.HANDS_BACK,
        do=(_A.BEGIN_RELEASE,),
    ),
    fan(
        _S.SYNCING,
        (_T.REBALANCE_SIGNALLED, _T.REJOIN_ASKED),
        to=_S.FINDING,
        when=_G.HANDS_NOTHING,
        do=_SEEK,
        why="keep member id and generation",
    ),
    fan(
        (_S.FINDING, _S.PREPARING, _S.JOINING, _S.BACKING_OFF, _S.RELEASING),
        _T.REBALANCE_SIGNALLED,
        why="known: it is on its way into the round, or out of the group",
    ),
)

JOINING_ROWS: Final[Rules] = (*_APPLICATION, *_HANDING_BACK, *_ROUND, *_REJOIN)
