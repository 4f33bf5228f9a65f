"""The states of a classic member, and facts about them.

Decides: per state whether heartbeats are sent, commits may go out, which replies are awaited and
which timers may run; from these the set of triggers that are possible there.
Never: transitions; `joining_rows` and `ending_rows` have them.
KIPs: 62, 345, 394, 429.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kgroup.machine.wishes import Errand
from kgroup.membership.triggers import LOCAL, SIGNALS, Trigger
from kgroup.types import MemberState
from kgroup.values import dataclass

_S = MemberState
_T = Trigger


@dataclass(frozen=True, slots=True)
class Facts:
    """What is true of a state.

    Args:
        about: one sentence for the docs.
        seeks: the coordinator is needed; it is looked for when lost.
        signals: heartbeats or commits may be in flight.
        heartbeats: heartbeats are sent (once there is a generation).
        commits: a commit sent now can be accepted.
        awaits: the errand whose reply moves the state, None without one.
        timers: timers that may run.
        own: triggers of this member's own bookkeeping.
    """

    about: str
    seeks: bool = True
    signals: bool = True
    heartbeats: bool = True
    commits: bool = True
    awaits: Errand | None = None
    timers: frozenset[Trigger] = frozenset()
    own: frozenset[Trigger] = frozenset()


_LED = frozenset({_T.TOPICS_CHANGED})
"""Where a leader may still watch the topics it assigned from."""

_HELD = frozenset({_T.LEASE_EXPIRED, _T.POLL_EXPIRED})
_BEATING = _HELD | {_T.HEARTBEAT_DUE}

FACTS: Mapping[MemberState, Facts] = MappingProxyType(
    {
        _S.UNSUBSCRIBED: Facts(
            "Nothing is asked for.", seeks=False, signals=False, heartbeats=False, commits=False
        ),
        _S.FINDING: Facts(
            "Wants to join; the coordinator is being looked for.",
            heartbeats=False,
            timers=_HELD,
            own=_LED | {_T.COORDINATOR_READY},
        ),
        _S.PREPARING: Facts(
            "Hands back what must be handed back before JoinGroup.",
            timers=_BEATING | {_T.DRAIN_LIMIT, _T.RELEASE_LIMIT},
            own=_LED | {_T.HANDED_BACK},
        ),
        _S.JOINING: Facts(
            "JoinGroup is in flight; the coordinator holds it until the round is complete.",
            awaits=Errand.JOIN_GROUP,
            timers=_BEATING,
            own=_LED | {_T.COORDINATOR_LOST, _T.SUBSCRIPTION_FAILED},
        ),
        _S.ASSIGNING: Facts(
            "This member leads the round: the assignor runs.",
            commits=False,
            awaits=Errand.RUN_ASSIGNOR,
            timers=_BEATING,
        ),
        _S.SYNCING: Facts(
            "SyncGroup is in flight; the coordinator holds it until the leader's is in.",
            commits=False,
            awaits=Errand.SYNC_GROUP,
            timers=_BEATING,
            own=_LED | {_T.COORDINATOR_LOST},
        ),
        _S.STABLE: Facts(
            "The assignment is adopted.",
            timers=_BEATING | {_T.REJOIN_DUE, _T.HAND_OVER_LIMIT},
            own=_LED | {_T.ROUND_OWED},
        ),
        _S.BACKING_OFF: Facts(
            "Waits before it joins again.",
            timers=_BEATING | {_T.BACKOFF_OVER},
            own=_LED,
        ),
        _S.DORMANT: Facts(
            "The application stopped polling; a dynamic member has left, a static one is silent.",
            seeks=False,
            signals=False,
            heartbeats=False,
            commits=False,
            own=frozenset({_T.POLL_RESUMED}),
        ),
        _S.RELEASING: Facts(
            "Hands everything back before it leaves.",
            timers=frozenset(
                {
                    _T.HEARTBEAT_DUE,
                    _T.LEASE_EXPIRED,
                    _T.DRAIN_LIMIT,
                    _T.RELEASE_LIMIT,
                    _T.CLOSE_LIMIT,
                }
            ),
            own=_LED | {_T.HANDED_BACK},
        ),
        _S.LEAVING: Facts(
            "LeaveGroup is in flight, or the coordinator is being looked for to be sent it.",
            signals=False,
            heartbeats=False,
            commits=False,
            awaits=Errand.LEAVE_GROUP,
            timers=frozenset({_T.CLOSE_LIMIT}),
            own=_LED | {_T.COORDINATOR_READY},
        ),
        _S.LEFT: Facts(
            "The membership is over.", seeks=False, signals=False, heartbeats=False, commits=False
        ),
        _S.FENCED: Facts(
            "Another member uses the instance id; this one does nothing more.",
            seeks=False,
            signals=False,
            heartbeats=False,
            commits=False,
        ),
        _S.FAILED: Facts(
            "A fatal answer ended the membership.",
            seeks=False,
            signals=False,
            heartbeats=False,
            commits=False,
        ),
    }
)

TERMINAL = frozenset({_S.LEFT, _S.FENCED, _S.FAILED})

_REPLIES: Mapping[Errand, frozenset[Trigger]] = MappingProxyType(
    {
        Errand.JOIN_GROUP: frozenset(
            {
                _T.MEMBER_ID_GIVEN,
                _T.ELECTED,
                _T.ELECTED_UNASKED,
                _T.JOINED,
                _T.RETRY_LATER,
                _T.GENERATION_LOST_IN_ROUND,
                _T.MEMBER_LOST_IN_ROUND,
                _T.ROUND_NOT_PERMITTED,
            }
        ),
        Errand.RUN_ASSIGNOR: frozenset({_T.ASSIGNOR_DONE, _T.ASSIGNOR_FAILED, _T.RETRY_LATER}),
        Errand.SYNC_GROUP: frozenset(
            {
                _T.SYNCED,
                _T.ASSIGNMENT_UNREADABLE,
                _T.REJOIN_ASKED,
                _T.RETRY_LATER,
                _T.GENERATION_LOST_IN_ROUND,
                _T.MEMBER_LOST_IN_ROUND,
                _T.ROUND_NOT_PERMITTED,
            }
        ),
        Errand.LEAVE_GROUP: frozenset({_T.LEAVE_ENDED}),
    }
)


def possible(state: MemberState) -> frozenset[Trigger]:
    """Return every trigger that can reach a member in `state`: the table's obligation."""
    return _POSSIBLE[state]


def _possible(facts: Facts) -> frozenset[Trigger]:
    replies = frozenset() if facts.awaits is None else _REPLIES[facts.awaits]
    signals = SIGNALS if facts.signals else frozenset()
    return LOCAL | facts.own | replies | signals | facts.timers


_POSSIBLE: Mapping[MemberState, frozenset[Trigger]] = MappingProxyType(
    {state: _possible(facts) for state, facts in FACTS.items()}
)
