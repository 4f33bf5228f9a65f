"""Draws what lies in wait for the members of a hostile group.

Decides: which ploys are tried at the entrance to which state, and with which error codes. Codes are
those that a coordinator can give to the request (`kgroup.machine.reactions` says what each means),
whether or not it has reason to: that a member bears an answer does not depend on why it was given.
Never: draws other than by `choices`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.types import MemberState
from tests.search.simulation.choices import Choices
from tests.search.simulation.plan import Ambush, Ploy

T = TypeVar("T")

_S = MemberState
_P = Ploy
_E = ErrorCode

_COUNTS: Final = (16, 20, 24, 32)
_GRID: Final = 512
_WISHES: Final = (_P.SUBSCRIBE, _P.UNSUBSCRIBE, _P.CLOSE, _P.ENFORCE)
_REFUSALS: Final = (_P.REFUSE, _P.REFUSE, _P.REFUSE, _P.REFUSE)
_ASSIGNING: Final = (_P.FAIL, _P.LATE, _P.GARBLE, _P.AGAIN, _P.AGAIN, _P.STALL, _P.STALL)

_PLOYS: Final[Mapping[MemberState, tuple[Ploy, ...]]] = MappingProxyType(
    {
        _S.FINDING: (*_WISHES, _P.REFUSE, _P.REFUSE, _P.MUTE),
        _S.PREPARING: (*_WISHES, *_REFUSALS),
        _S.JOINING: (*_WISHES, *_REFUSALS, _P.CROSS, _P.CROSS, _P.CROSS, _P.CROSS),
        _S.ASSIGNING: (*_WISHES, *_REFUSALS, *_REFUSALS, *_ASSIGNING),
        _S.SYNCING: (*_WISHES, *_REFUSALS, *_REFUSALS),
        _S.STABLE: (*_REFUSALS, _P.STALL, _P.MUTE, _P.CROSS, _P.CROSS, _P.CROSS),
        _S.BACKING_OFF: (*_WISHES, *_REFUSALS, _P.STALL),
        _S.DORMANT: _WISHES,
        _S.RELEASING: (*_WISHES, *_REFUSALS),
        _S.LEAVING: _WISHES,
        _S.UNSUBSCRIBED: _WISHES,
        _S.LEFT: _WISHES,
        _S.FENCED: _WISHES,
        _S.FAILED: _WISHES,
    }
)
_STATES: Final = tuple(_PLOYS)

_OF_A_MEMBER: Final = (
    _E.GROUP_AUTHORIZATION_FAILED,
    _E.FENCED_INSTANCE_ID,
    _E.UNKNOWN_MEMBER_ID,
    _E.ILLEGAL_GENERATION,
    _E.REBALANCE_IN_PROGRESS,
    _E.INVALID_GROUP_ID,
    _E.INVALID_GROUP_ID,
    _E.NOT_COORDINATOR,
)
_ON_THE_WAY: Final = (
    _E.FENCED_INSTANCE_ID,
    _E.REBALANCE_IN_PROGRESS,
    _E.UNKNOWN_MEMBER_ID,
    _E.ILLEGAL_GENERATION,
    _E.GROUP_AUTHORIZATION_FAILED,
)
_ASKED: Final[Mapping[MemberState, tuple[ApiKey, tuple[ErrorCode, ...]]]] = MappingProxyType(
    {
        _S.FINDING: (
            ApiKey.FIND_COORDINATOR,
            (
                _E.GROUP_AUTHORIZATION_FAILED,
                _E.INVALID_GROUP_ID,
                _E.COORDINATOR_NOT_AVAILABLE,
            ),
        ),
        _S.JOINING: (
            ApiKey.JOIN_GROUP,
            (
                _E.GROUP_AUTHORIZATION_FAILED,
                _E.INCONSISTENT_GROUP_PROTOCOL,
                _E.GROUP_MAX_SIZE_REACHED,
                _E.FENCED_INSTANCE_ID,
                _E.UNKNOWN_MEMBER_ID,
                _E.ILLEGAL_GENERATION,
                _E.COORDINATOR_LOAD_IN_PROGRESS,
                _E.NOT_COORDINATOR,
            ),
        ),
        _S.SYNCING: (
            ApiKey.SYNC_GROUP,
            (
                _E.GROUP_AUTHORIZATION_FAILED,
                _E.INVALID_GROUP_ID,
                _E.FENCED_INSTANCE_ID,
                _E.UNKNOWN_MEMBER_ID,
                _E.ILLEGAL_GENERATION,
                _E.COORDINATOR_LOAD_IN_PROGRESS,
                _E.NOT_COORDINATOR,
            ),
        ),
    }
)
"""State -> what is asked in it, and what may be answered."""
_SIGNALS: Final = (ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT)
_TIMES: Final = (1, 2, 99)

LONGEST: Final = 1.6
"""The longest that an ambush lasts: times the longer of session and rebalance timeout."""


def draw_ambushes(
    choices: Choices, size: int, span: tuple[float, float], times: tuple[float, ...]
) -> tuple[Ambush, ...]:
    """Draw what lies in wait.

    Args:
        choices: the run's chance.
        size: how many members there are.
        span: first and last instant at which an ambush is laid.
        times: session and rebalance timeout, and between two heartbeats; seconds.
    """
    session, rebalance, heartbeat, *_ = times
    longest = (
        heartbeat * 1.3,
        heartbeat * 2.2,
        session * 1.2,
        rebalance * 1.1,
        rebalance * LONGEST,
        0.2,
    )
    drawn = []
    for number in range(_one(choices, "ambushes", _COUNTS)):
        at = f"a{number}"
        state = _one(choices, f"{at}/state", _STATES)
        chosen = choices.choose(f"{at}/ploy", len(_PLOYS[state]) + 1)
        place = choices.choose(f"{at}/at", _GRID) / _GRID
        if not chosen:
            continue
        ploy = _PLOYS[state][chosen - 1]
        apis, codes = _refused(choices, at, state, ploy)
        stalls = ploy is _P.STALL  # for nothing, unless it is longer than anybody may
        seconds, linger = _one(choices, f"{at}/seconds", longest), choices.choose(f"{at}/linger", 3)
        drawn.append(
            Ambush(
                at=span[0] + place * (span[1] - span[0]),
                state=state,
                ploy=ploy,
                after=(0.0, heartbeat / 4, 0.02)[choices.choose(f"{at}/after", 3)],
                seconds=rebalance * LONGEST if stalls else seconds,
                linger=stalls or bool(linger),
                apis=apis,
                code=_one(choices, f"{at}/code", codes),
                times=_one(choices, f"{at}/times", _TIMES),
                member=choices.choose(f"{at}/member", size),
            )
        )
    return tuple(sorted(drawn, key=lambda each: each.at))


def _refused(
    choices: Choices, at: str, state: MemberState, ploy: Ploy
) -> tuple[tuple[ApiKey, ...], tuple[ErrorCode, ...]]:
    """Draw what is refused, and how it may be."""
    asked = _ASKED.get(state)
    signals = state is not _S.FINDING and choices.choose(f"{at}/signals", 2)
    if ploy is _P.CROSS:
        return _SIGNALS, _ON_THE_WAY
    if asked is None or signals:
        return _SIGNALS, _OF_A_MEMBER
    return (asked[0],), asked[1]


def _one(choices: Choices, site: str, values: Sequence[T]) -> T:
    return values[choices.choose(site, len(values))]
