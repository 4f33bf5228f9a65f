"""What a consumer did about an error, in the words of the reactions table.

Decides: from requests, from what was raised and from what was owned, which reaction it was.
Never: looks into the table, or into the consumer.
"""

from collections.abc import Callable, Mapping
from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import (
    BrokerError,
    CorruptRecordError,
    FencedError,
    UnauthorizedError,
)
from kgroup.machine.reactions import Reaction
from kgroup.testing.broker.server.switchboard import Arrival
from kgroup.wire.messages import (
    ApiVersionsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
)
from kgroup.wire.schema import Request
from tests.bad_input.sweeps.places import GIVEN
from tests.bad_input.sweeps.trials import Trial

_R = Reaction

_AT_ONCE: Final = 0.02
"""Virtual seconds: no pause at all."""

_SOON: Final = 0.5
"""Virtual seconds within which what follows from an error has followed: longer than the first
pauses, shorter than anything that comes by itself."""


_PATIENCE: Final = 1.4
"""Virtual seconds within which what is asked again slowly has been."""

_CLOSING: Final = 5.0
"""Virtual seconds that closing may take."""

_NO_SESSION: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
)
_SOUGHT: Final = (ApiKey.FETCH, ApiKey.LIST_OFFSETS)


def seen(trial: Trial) -> Reaction:
    """Name the reaction.

    Raises:
        LookupError: it is none that has a name.
    """
    if not trial.hits:
        raise LookupError("the error was not met")
    return _EYES[trial.place.api](trial)


# -- what can be seen ----------------------------------------------------------------------------


def _next(trial: Trial, *kinds: type[Request]) -> Arrival | None:  # type: ignore[type-arg]
    """Return the first request of some classes behind the error."""
    return next((each for each in trial.arrivals if isinstance(each.request, kinds)), None)


def _pause(trial: Trial, following: Arrival) -> float:
    return following.at - trial.hits[0]


def _lost(trial: Trial) -> bool:
    return any(trial.hits[0] <= at < trial.hits[0] + _SOON for at in trial.lost)


def _ended(trial: Trial) -> Reaction | None:
    """Name the end of the consumer, if it has ended."""
    match trial.failure:
        case None:
            return None
        case FencedError():
            return _R.FENCE
        case BrokerError(code=trial.code) as error if error.api == trial.place.api.name:
            return _R.REFUSE
        case error:
            raise LookupError(f"it ended by {error!r}")


def _raised(trial: Trial) -> Reaction | None:
    """Name what reads raised; the error must be the one that struck.

    What may be granted is asked for again by itself; what is refused, when the application seeks.
    Elsewhere there is nothing to seek, and what is refused is asked for now and then: there it is
    the kind of error.
    """
    if not trial.raised:
        return None
    at, error = trial.raised[0]
    match error:
        case BrokerError(code=trial.code) if trial.place.api in _SOUGHT:
            until = trial.sought_at or at + _PATIENCE
            again = any(
                isinstance(each.request, trial.place.kind) and trial.hits[0] < each.at < until
                for each in trial.arrivals
            )
            return _R.UNAUTHORIZED if again else _R.REFUSE
        case UnauthorizedError(code=trial.code):
            return _R.UNAUTHORIZED
        case BrokerError(code=trial.code):
            return _R.REFUSE
        case CorruptRecordError():
            return _R.CORRUPT
        case _:
            raise LookupError(f"reads raised {error!r}")


# -- the group -----------------------------------------------------------------------------------


def _of_round(trial: Trial) -> Reaction:
    """JoinGroup, SyncGroup, Heartbeat: how the member goes on."""
    following = _next(trial, trial.place.kind, FindCoordinatorRequest, JoinGroupRequest)
    end = _ended(trial)
    if end is not None:
        return _R.RETRY_BOUNDED if following is not None and len(trial.hits) > 1 else end
    if following is None:
        raise LookupError("nothing follows")
    if (raised := _raised(trial)) is not None:
        return raised
    match following.request:
        case FindCoordinatorRequest():
            return _R.FIND_COORDINATOR
        case JoinGroupRequest(member_id=member_id) if _lost(trial):
            given = {"": _R.LOSE_MEMBER, GIVEN: _R.TAKE_MEMBER_ID}
            return given.get(member_id, _R.LOSE_GENERATION)
        case JoinGroupRequest() if trial.place.api is ApiKey.JOIN_GROUP:
            return _R.RETRY
        case JoinGroupRequest():
            return _R.REJOIN if _pause(trial, following) < _AT_ONCE else _R.REJOIN_LATER
        case HeartbeatRequest():
            return _R.RETRY
        case _:
            raise LookupError(f"{following.request} follows")


def _of_search(trial: Trial) -> Reaction:
    following = _next(trial, FindCoordinatorRequest)
    end = _ended(trial) or _raised(trial)
    if end is not None:
        return end
    if following is None or _pause(trial, following) < _AT_ONCE:
        raise LookupError(f"{following} follows")
    return _R.RETRY


def _of_commit(trial: Trial) -> Reaction:
    if (end := _ended(trial) or _raised(trial)) is not None:
        return end
    following = _next(trial, FindCoordinatorRequest, JoinGroupRequest, trial.place.kind)
    match following and following.request:
        case FindCoordinatorRequest():
            return _R.FIND_COORDINATOR
        case JoinGroupRequest(member_id=member_id) if _lost(trial):
            return _R.LOSE_GENERATION if member_id else _R.LOSE_MEMBER
        case JoinGroupRequest():
            return _R.REJOIN
    outcome = trial.commits[0]
    if outcome is not None:
        codes = {each.code for each in outcome.outcome.partitions.values()}
        if codes != {trial.code}:
            raise LookupError(f"the commit failed by {codes}")
        if following is None or _pause(trial, following) >= _SOON / 2:
            return _R.REFUSE
    return _R.RETRY


def _of_leaving(trial: Trial) -> Reaction:
    sought = _next(trial, FindCoordinatorRequest)
    if sought is not None and trial.closed_in < _CLOSING + _AT_ONCE:
        return _R.FIND_COORDINATOR
    if len(trial.hits) == 1 and trial.closed_in < _AT_ONCE:
        return _R.SUCCEED
    raise LookupError(f"asked {len(trial.hits)} time(s), closed in {trial.closed_in:g} s")


# -- logs ----------------------------------------------------------------------------------------


def _of_log(trial: Trial) -> Reaction:
    """OffsetFetch, ListOffsets, Fetch, OffsetForLeaderEpoch: how the position is found."""
    if (end := _ended(trial) or _raised(trial)) is not None:
        return end
    soon = [each.request for each in trial.arrivals if _pause(trial, each) < _SOON]
    if trial.place.api is ApiKey.FETCH and any(isinstance(e, ListOffsetsRequest) for e in soon):
        return _R.OUT_OF_RANGE
    if any(isinstance(each, FindCoordinatorRequest) for each in soon):
        return _R.FIND_COORDINATOR
    if any(isinstance(each, MetadataRequest) for each in soon):
        return _R.REFRESH
    following = _next(trial, trial.place.kind)
    at_once = following is not None and _pause(trial, following) < _AT_ONCE
    # A session that the broker does not know is begun anew at once (KIP-227).
    if following is None or (at_once and trial.code not in _NO_SESSION):
        raise LookupError(f"{following} follows")
    return _R.RETRY


# -- the cluster ---------------------------------------------------------------------------------


def _of_metadata(trial: Trial) -> Reaction:
    if (end := _ended(trial) or _raised(trial)) is not None:
        return end
    following = _next(trial, MetadataRequest)
    if following is None or _pause(trial, following) >= 2 * _SOON:
        return _R.IGNORE
    if _pause(trial, following) < _AT_ONCE:
        raise LookupError("asked again without a pause")
    if following.connection != trial.broker.requests[trial.since - 1].connection:
        return _R.REBOOTSTRAP
    rejoined = _next(trial, JoinGroupRequest)
    return _R.RETRY if rejoined is None else _R.MISSING


def _of_handshake(trial: Trial) -> Reaction:
    following = _next(trial, ApiVersionsRequest)
    if following is None:
        raise LookupError("nobody connects again")
    hit = trial.broker.requests[trial.since - 1]
    if following.connection == hit.connection:
        return _R.DOWNGRADE
    return _R.REFUSE


_EYES: Final[Mapping[ApiKey, Callable[[Trial], Reaction]]] = {
    ApiKey.API_VERSIONS: _of_handshake,
    ApiKey.METADATA: _of_metadata,
    ApiKey.FIND_COORDINATOR: _of_search,
    ApiKey.JOIN_GROUP: _of_round,
    ApiKey.SYNC_GROUP: _of_round,
    ApiKey.HEARTBEAT: _of_round,
    ApiKey.OFFSET_FETCH: _of_log,
    ApiKey.OFFSET_COMMIT: _of_commit,
    ApiKey.LIST_OFFSETS: _of_log,
    ApiKey.FETCH: _of_log,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _of_log,
    ApiKey.LEAVE_GROUP: _of_leaving,
}
