"""The one table of error reactions: (API, error code) -> what the member does.

Decides: the reaction to every error code on every API of the group protocol.
Never: carries a reaction out; the machines translate it into their own triggers.
KIPs: 62, 345, 394, 429, 447, 848. Source of the cells: answers of real 3.9 and 4.3 brokers.

A code that has no cell of its own falls to the API's default: RETRY when Kafka calls the code
retriable, REFUSE otherwise. An unknown number is never retried (a new broker knows better).
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from kgroup.codes import ApiKey, ErrorCode, is_retriable

__all__ = ["GROUP_APIS", "REACTIONS", "Reaction", "reaction"]


class Reaction(Enum):
    """What a member does about an error code."""

    SUCCEED = "no error"
    RETRY = "retry in place, with backoff"
    FIND_COORDINATOR = "the coordinator moved: find it, then retry"
    REJOIN = "rejoin, keep member id and generation"
    REJOIN_LATER = "rejoin after backoff, keep member id and generation"
    DROP_GENERATION = "partitions lost: rejoin without generation, keep the member id"
    DROP_MEMBER = "partitions lost: rejoin without generation and member id"
    TAKE_MEMBER_ID = "store the member id the coordinator gives, rejoin at once"
    RETRY_BOUNDED = "retry with backoff for a bounded time, then tell the user which cause to seek"
    FENCE = "fatal: another member uses the instance id"
    REFUSE = "fatal to the request; the caller is told"
    IGNORE = "best effort: nothing"


_E = ErrorCode
_R = Reaction

_COORDINATOR_MOVED = {
    _E.COORDINATOR_NOT_AVAILABLE: _R.FIND_COORDINATOR,
    _E.NOT_COORDINATOR: _R.FIND_COORDINATOR,
    _E.REQUEST_TIMED_OUT: _R.FIND_COORDINATOR,
}

_CELLS: dict[ApiKey, dict[ErrorCode, Reaction]] = {
    ApiKey.FIND_COORDINATOR: {},
    ApiKey.JOIN_GROUP: {
        **_COORDINATOR_MOVED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.RETRY,
        _E.ILLEGAL_GENERATION: _R.DROP_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.DROP_MEMBER,
        _E.MEMBER_ID_REQUIRED: _R.TAKE_MEMBER_ID,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        # One member whose subscription bytes the broker cannot read fails everybody's round.
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY_BOUNDED,
    },
    ApiKey.SYNC_GROUP: {
        **_COORDINATOR_MOVED,
        # The coordinator of 4.x says 14 where the older one said 27 while it loads.
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.REJOIN_LATER,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.DROP_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.DROP_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_SERVER_ERROR: _R.REJOIN_LATER,
    },
    ApiKey.HEARTBEAT: {
        **_COORDINATOR_MOVED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.DROP_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.DROP_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    },
    ApiKey.OFFSET_COMMIT: {
        **_COORDINATOR_MOVED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.DROP_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.DROP_MEMBER,
        # 4.x: a commit with a generation to a group that does not exist (any more).
        _E.GROUP_ID_NOT_FOUND: _R.DROP_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.RETRY,
        _E.UNSTABLE_OFFSET_COMMIT: _R.REFUSE,
    },
    ApiKey.OFFSET_FETCH: {
        **_COORDINATOR_MOVED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.UNSTABLE_OFFSET_COMMIT: _R.RETRY,
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.REFUSE,
    },
    ApiKey.LEAVE_GROUP: {},
}

REACTIONS: Mapping[ApiKey, Mapping[ErrorCode, Reaction]] = MappingProxyType(
    {api: MappingProxyType(cells) for api, cells in _CELLS.items()}
)

GROUP_APIS: tuple[ApiKey, ...] = tuple(REACTIONS)
"""Every API the table answers for."""


def reaction(api: ApiKey, code: int) -> Reaction:
    """Return the reaction to `code` answered on `api`; total over all numbers."""
    if code == 0:
        return Reaction.SUCCEED
    if api is ApiKey.LEAVE_GROUP:
        return Reaction.IGNORE
    cells = REACTIONS.get(api, {})
    try:
        named = ErrorCode(code)
    except ValueError:
        return Reaction.REFUSE
    default = Reaction.RETRY if is_retriable(code) else Reaction.REFUSE
    return cells.get(named, default)
