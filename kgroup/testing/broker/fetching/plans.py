"""What is read for one fetch, and which part of it its session sends.

Decides: the four kinds of fetch of KIP-227, and the errors 70, 71 and 106 of the session itself.
Never: reads a log, or waits.

The epoch moves on when a request arrives, not when it is answered. So of two requests that overlap
the first one answered after the second has come is refused as a duplicate.
"""

from collections.abc import Mapping
from typing import TypeAlias

from kgroup.codes import ErrorCode
from kgroup.testing.broker.fetching.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    Session,
    SessionCache,
    Told,
    next_epoch,
)
from kgroup.testing.broker.fetching.wanted import (
    BY_ID_SINCE,
    NameOf,
    Place,
    Wanted,
    forgotten_in,
    wanted_in,
)
from kgroup.values import dataclass
from kgroup.wire.messages import FetchRequest, PartitionData


@dataclass(frozen=True, slots=True)
class Outcome:
    """The top of an answer, and the partitions it holds.

    Args:
        error_code: of the session.
        session_id: 0 = none.
        rows: the partitions of the answer, in its order.
    """

    error_code: ErrorCode
    session_id: int
    rows: Mapping[Place, PartitionData]


@dataclass(frozen=True, slots=True)
class Refused:
    """A fetch of a session that does not live, or not so.

    Args:
        code: 70, 71 or 106.
    """

    code: ErrorCode

    @property
    def wanted(self) -> dict[Place, Wanted]:
        """Nothing: without the session the request names nothing to read."""
        return {}

    def conclude(self, _read: Mapping[Place, PartitionData]) -> Outcome:
        """Say so."""
        return Outcome(self.code, 0, {})


@dataclass(frozen=True, slots=True)
class Sessionless:
    """A fetch that is on its own.

    Args:
        wanted: what is read.
    """

    wanted: dict[Place, Wanted]

    def conclude(self, read: Mapping[Place, PartitionData]) -> Outcome:
        """Tell everything."""
        return Outcome(ErrorCode.NONE, 0, read)


@dataclass(frozen=True, slots=True)
class Full:
    """A fetch whose answer begins a session.

    Args:
        wanted: what is read.
        cache: where the session will live.
        by_id: whether it names topics by ids.
    """

    wanted: dict[Place, Wanted]
    cache: SessionCache
    by_id: bool

    def conclude(self, read: Mapping[Place, PartitionData]) -> Outcome:
        """Tell everything, and begin the session if there is a slot for it."""
        partitions = {
            place: Told(self.wanted[place], data.high_watermark, data.log_start_offset)
            for place, data in read.items()
        }
        session_id = self.cache.begin(partitions, by_id=self.by_id)
        return Outcome(ErrorCode.NONE, session_id, read)


@dataclass(frozen=True, slots=True)
class Incremental:
    """A fetch of a session.

    Args:
        session: as the request left it.
        epoch: of the next request; another one there means that this is not the latest.
        wanted: all of the session.
    """

    session: Session
    epoch: int
    wanted: dict[Place, Wanted]

    def conclude(self, read: Mapping[Place, PartitionData]) -> Outcome:
        """Tell what has changed."""
        session_id = self.session.session_id
        if self.session.epoch != self.epoch:
            return Outcome(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id, {})
        return Outcome(ErrorCode.NONE, session_id, self.session.pick(read))


Plan: TypeAlias = Refused | Sessionless | Full | Incremental


def plan(cache: SessionCache, request: FetchRequest, version: int, name_of: NameOf) -> Plan:
    """Say what a request is to its session; the session moves on.

    Args:
        cache: sessions of the broker that was asked.
        request: the fetch.
        version: of it.
        name_of: how topics are called now.
    """
    wanted = wanted_in(request, version, name_of)
    by_id = version >= BY_ID_SINCE
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        cache.end(request.session_id)
        if request.session_epoch == FINAL_EPOCH:
            return Sessionless(wanted)
        return Full(wanted, cache, by_id)
    session = cache.get(request.session_id)
    if session is None:
        return Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if session.epoch != request.session_epoch:
        return Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    if session.by_id != by_id:
        return Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
    session.update(wanted, forgotten_in(request, version))
    if not session.partitions:
        cache.end(session.session_id)
        return Sessionless(wanted)
    cache.touch(session)
    session.epoch = next_epoch(session.epoch)
    return Incremental(session, session.epoch, session.wanted(name_of))
