"""The states of a member of a KIP-848 group, and facts about them.

Decides: per state whether heartbeats are sent, commits may go out, which answers move it and which
timers may run; from these the set of triggers that are possible there.
Never: transitions; `rows` has them.
KIPs: 62, 345, 848.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kgroup.consumer_group.triggers import LOCAL, SEARCHED, SIGNALS, Trigger
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
        heartbeats: heartbeats are sent, and answered.
        commits: a commit sent now can be accepted.
        timers: timers that may run.
        own: further triggers that can reach it.
    """

    about: str
    seeks: bool = True
    heartbeats: bool = False
    commits: bool = False
    timers: frozenset[Trigger] = frozenset()
    own: frozenset[Trigger] = frozenset()


_POLLED = frozenset({_T.POLL_EXPIRED})
_OWNING = frozenset({_T.HEARTBEAT_DUE, _T.LEASE_EXPIRED, _T.DRAIN_LIMIT})

FACTS: Mapping[MemberState, Facts] = MappingProxyType(
    {
        _S.UNSUBSCRIBED: Facts("Nothing is asked for.", seeks=False),
        _S.FINDING: Facts(
            "Wants to join; the coordinator is being looked for.",
            timers=_POLLED,
            own=SEARCHED | {_T.COORDINATOR_READY},
        ),
        _S.PREPARING: Facts(
            "Waits for on_revoked of what was lost before it joins.",
            timers=_POLLED | {_T.RELEASE_LIMIT},
            own=SEARCHED | {_T.HANDED_BACK},
        ),
        _S.JOINING: Facts(
            "A heartbeat that says everything is in flight, with epoch 0 unless it has one.",
            timers=_POLLED,
            own=frozenset(
                {
                    _T.JOINED,
                    _T.RETRY_LATER,
                    _T.INSTANCE_UNRELEASED,
                    _T.EPOCH_LOST,
                    _T.NOT_PERMITTED,
                    _T.FENCED,
                    _T.REFUSED,
                    _T.COORDINATOR_LOST,
                }
            ),
        ),
        _S.RECONCILING: Facts(
            "Revokes what is not assigned any more, takes what is new, and acknowledges it.",
            heartbeats=True,
            commits=True,
            timers=_OWNING | _POLLED,
            own=frozenset({_T.RECONCILED, _T.TOPICS_NAMED}),
        ),
        _S.STABLE: Facts(
            "What is assigned is owned, and the coordinator has heard so.",
            heartbeats=True,
            commits=True,
            timers=_OWNING | _POLLED,
        ),
        _S.BACKING_OFF: Facts(
            "Waits before it joins again.",
            timers=_POLLED | {_T.BACKOFF_OVER},
            own=SEARCHED,
        ),
        _S.DORMANT: Facts(
            "The application stopped polling; the member has said that it goes.",
            seeks=False,
            own=frozenset({_T.POLL_RESUMED}),
        ),
        _S.RELEASING: Facts(
            "Hands everything back before it leaves.",
            heartbeats=True,
            commits=True,
            timers=_OWNING | {_T.RELEASE_LIMIT, _T.CLOSE_LIMIT},
            own=frozenset({_T.HANDED_BACK}),
        ),
        _S.LEAVING: Facts(
            "The farewell is in flight, or the coordinator is being looked for to be sent it.",
            timers=frozenset({_T.CLOSE_LIMIT}),
            own=frozenset({_T.LEAVE_ENDED, _T.COORDINATOR_READY}),
        ),
        _S.LEFT: Facts("The membership is over.", seeks=False),
        _S.FENCED: Facts(
            "Another member uses the instance id; this one does nothing more.", seeks=False
        ),
        _S.FAILED: Facts("A fatal answer ended the membership.", seeks=False),
    }
)


def possible(state: MemberState) -> frozenset[Trigger]:
    """Return every trigger that can reach a member in `state`: the table's obligation."""
    return _POSSIBLE[state]


def _possible(facts: Facts) -> frozenset[Trigger]:
    return LOCAL | facts.own | facts.timers | (SIGNALS if facts.heartbeats else frozenset())


_POSSIBLE: Mapping[MemberState, frozenset[Trigger]] = MappingProxyType(
    {state: _possible(facts) for state, facts in FACTS.items()}
)
