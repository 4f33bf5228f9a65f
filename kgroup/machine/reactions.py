"""The one table of error reactions: (API, error code) -> what this client does.

Decides: the reaction to every error code on every API a consumer, or one of its tools, uses.
Never: carries a reaction out; each caller translates it into its own moves.
KIPs: 62, 320 (leader epochs), 345, 394, 405, 429, 447, 516 (topic ids), 848, 1102 (re-bootstrap).
Source of the group's cells: answers of real 3.9 and 4.3 brokers; of the others:
`org.apache.kafka.common.protocol.Errors` and what was seen on real brokers.

A code that has no cell of its own falls to the API's default: RETRY when Kafka calls the code
retriable (REJOIN_LATER for SyncGroup), REFUSE otherwise. An unknown number is never retried (a new
broker knows better). The cells are about what was asked for: topics, partitions, groups. An error
of an answer of Metadata or Fetch as a whole is a failure of the broker that gave it, asked again
with backoff whatever it is; REBOOTSTRAP_REQUIRED of Metadata alone is more.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kgroup.codes import ApiKey, ErrorCode, is_retriable
from kgroup.words import Word


class Reaction(Word):
    """What is done about an error code."""

    SUCCEED = "no error"
    RETRY = "retry in place, with backoff"
    FIND_COORDINATOR = "the coordinator moved: find it, then retry"
    REJOIN = "rejoin, keep member id and generation"
    REJOIN_LATER = "rejoin after backoff, keep member id and generation"
    LOSE_GENERATION = "partitions lost: rejoin without generation, keep the member id"
    LOSE_MEMBER = "partitions lost: rejoin without generation and member id"
    TAKE_MEMBER_ID = "store the member id the coordinator gives, rejoin at once"
    RETRY_BOUNDED = "retry with backoff for a bounded time, then tell the user which cause to seek"
    FENCE = "fatal: another member uses the instance id"
    AWAIT_RELEASE = "another member has the instance id, and may go: wait, longer each time"
    RENEW_EPOCH = "the member's epoch moved on: learn it by a heartbeat, then again"
    REFRESH = "ask for metadata, then again, with backoff"
    MISSING = "nothing is there: forget what was known, ask again at a growing pace"
    OUT_OF_RANGE = "the log does not hold the position: a follower is left, a leader believed"
    UNAUTHORIZED = "the caller hears of it; asked again slowly, the right may be granted"
    CORRUPT = "reads raise it until the caller seeks elsewhere: what is stored is damaged"
    NOTHING = "an answer: the log has no such place"
    DOWNGRADE = "ask again in a version the broker knows"
    REBOOTSTRAP = "begin anew at the bootstrap addresses"
    REFUSE = "fatal to the request; the caller hears of it"
    IGNORE = "as good as no error"


_E = ErrorCode
_R = Reaction

_COORDINATOR_MOVED = {
    _E.COORDINATOR_NOT_AVAILABLE: _R.FIND_COORDINATOR,
    _E.NOT_COORDINATOR: _R.FIND_COORDINATOR,
    _E.REQUEST_TIMED_OUT: _R.FIND_COORDINATOR,
}

# The right may be granted at any time, and taken away again, while the member goes on asking.
_GROUP_CLOSED = {_E.GROUP_AUTHORIZATION_FAILED: _R.UNAUTHORIZED}

_LEADER_MOVED = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: _R.REFRESH,
    _E.LEADER_NOT_AVAILABLE: _R.REFRESH,
    _E.NOT_LEADER_OR_FOLLOWER: _R.REFRESH,
    _E.REPLICA_NOT_AVAILABLE: _R.REFRESH,
    _E.KAFKA_STORAGE_ERROR: _R.REFRESH,
    _E.FENCED_LEADER_EPOCH: _R.REFRESH,
    _E.UNKNOWN_TOPIC_ID: _R.REFRESH,
    _E.INCONSISTENT_TOPIC_ID: _R.REFRESH,
}

_ASKED_OF_A_LEADER = {
    **_LEADER_MOVED,
    # 1. We heard of a new leader. 2. The broker we ask has not. Nothing to learn: wait.
    _E.UNKNOWN_LEADER_EPOCH: _R.RETRY,
    # A new leader does not know yet how far its log is committed (KIP-207).
    _E.OFFSET_NOT_AVAILABLE: _R.RETRY,
    _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
    _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
}

_CELLS: dict[ApiKey, dict[ErrorCode, Reaction]] = {
    ApiKey.FIND_COORDINATOR: {**_GROUP_CLOSED},
    ApiKey.JOIN_GROUP: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.RETRY,
        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,
        _E.MEMBER_ID_REQUIRED: _R.TAKE_MEMBER_ID,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        # One member whose subscription bytes the broker cannot read fails everybody's round.
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY_BOUNDED,
    },
    ApiKey.SYNC_GROUP: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        # The coordinator of 4.x says 14 where the older one said 27 while it loads.
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.REJOIN_LATER,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_SERVER_ERROR: _R.REJOIN_LATER,
    },
    ApiKey.HEARTBEAT: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    },
    ApiKey.CONSUMER_GROUP_HEARTBEAT: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        # Of one of the topics that are asked for; the answer does not say which.
        _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        # The client makes the member id, and keeps it (KIP-1082).
        _E.UNKNOWN_MEMBER_ID: _R.LOSE_GENERATION,
        _E.FENCED_MEMBER_EPOCH: _R.LOSE_GENERATION,
        _E.UNRELEASED_INSTANCE_ID: _R.AWAIT_RELEASE,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    },
    ApiKey.OFFSET_COMMIT: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.REBALANCE_IN_PROGRESS: _R.REJOIN,
        _E.ILLEGAL_GENERATION: _R.LOSE_GENERATION,
        _E.UNKNOWN_MEMBER_ID: _R.LOSE_MEMBER,
        # 4.x: a commit with a generation to a group that does not exist (any more).
        _E.GROUP_ID_NOT_FOUND: _R.LOSE_MEMBER,
        _E.FENCED_INSTANCE_ID: _R.FENCE,
        _E.STALE_MEMBER_EPOCH: _R.RENEW_EPOCH,
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.RETRY,
        _E.UNSTABLE_OFFSET_COMMIT: _R.REFUSE,
    },
    ApiKey.OFFSET_FETCH: {
        **_COORDINATOR_MOVED,
        **_GROUP_CLOSED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.RETRY,
        _E.UNSTABLE_OFFSET_COMMIT: _R.RETRY,
        # Asked as a member; the next question carries what it is then, or nothing.
        _E.STALE_MEMBER_EPOCH: _R.RENEW_EPOCH,
        _E.UNKNOWN_MEMBER_ID: _R.RENEW_EPOCH,
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.REFUSE,
        _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
    },
    # A member that closes leaves anew at the next coordinator; any other answer ends it.
    ApiKey.LEAVE_GROUP: {
        **_COORDINATOR_MOVED,
        _E.COORDINATOR_LOAD_IN_PROGRESS: _R.FIND_COORDINATOR,
    },
    ApiKey.FETCH: {
        **_ASKED_OF_A_LEADER,
        _E.OFFSET_OUT_OF_RANGE: _R.OUT_OF_RANGE,
        _E.OFFSET_NOT_AVAILABLE: _R.REFRESH,
        _E.CORRUPT_MESSAGE: _R.CORRUPT,
        # Meant for followers; a consumer that gets it can only wait.
        _E.OFFSET_MOVED_TO_TIERED_STORAGE: _R.RETRY,
    },
    ApiKey.LIST_OFFSETS: {
        **_ASKED_OF_A_LEADER,
        # Its messages are too old to bear timestamps.
        _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: _R.NOTHING,
    },
    ApiKey.OFFSET_FOR_LEADER_EPOCH: {**_ASKED_OF_A_LEADER},
    ApiKey.METADATA: {
        _E.UNKNOWN_TOPIC_OR_PARTITION: _R.MISSING,
        _E.UNKNOWN_TOPIC_ID: _R.MISSING,
        # Old brokers say so of a partition with a dead follower; its leader serves.
        _E.REPLICA_NOT_AVAILABLE: _R.IGNORE,
        _E.TOPIC_AUTHORIZATION_FAILED: _R.UNAUTHORIZED,
        _E.REBOOTSTRAP_REQUIRED: _R.REBOOTSTRAP,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    },
    # The connection is made anew after any other error: nothing can be said on it.
    ApiKey.API_VERSIONS: {_E.UNSUPPORTED_VERSION: _R.DOWNGRADE},
}

REACTIONS: Final[Mapping[ApiKey, Mapping[ErrorCode, Reaction]]] = MappingProxyType(
    {api: MappingProxyType(cells) for api, cells in _CELLS.items()}
)
"""The cells of every API that has its own."""

OTHER_APIS: Final[Mapping[ErrorCode, Reaction]] = MappingProxyType(
    {
        **_LEADER_MOVED,
        _E.NOT_CONTROLLER: _R.REFRESH,
        _E.COORDINATOR_NOT_AVAILABLE: _R.FIND_COORDINATOR,
        _E.NOT_COORDINATOR: _R.FIND_COORDINATOR,
        _E.UNKNOWN_SERVER_ERROR: _R.RETRY,
    }
)
"""The cells of all others: writing, and the questions and orders of tools."""

# A failed SyncGroup cannot be repeated: a late one meets another round.
_RETRIED: Final[Mapping[ApiKey, Reaction]] = MappingProxyType(
    {ApiKey.SYNC_GROUP: Reaction.REJOIN_LATER}
)

GROUP_APIS: Final[tuple[ApiKey, ...]] = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.LEAVE_GROUP,
)
"""Every API a member of a group asks its coordinator."""


def reaction(api: ApiKey, code: int) -> Reaction:
    """Return the reaction to `code` answered on `api`; total over all APIs and numbers."""
    if code == 0:
        return Reaction.SUCCEED
    try:
        named = ErrorCode(code)
    except ValueError:
        return Reaction.REFUSE
    retried = is_retriable(code) and api is not ApiKey.API_VERSIONS
    default = _RETRIED.get(api, Reaction.RETRY) if retried else Reaction.REFUSE
    return REACTIONS.get(api, OTHER_APIS).get(named, default)
