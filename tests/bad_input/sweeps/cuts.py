"""A session one of whose answers ends after n bytes, where the connection is closed.

Decides: which answers are cut, and what a cut may cost: the first answer of each class, and later
ones that say something else, or with which another connection begins.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.faults import Rule
from kgroup.wire.messages import (
    ApiVersionsRequest,
    DescribeGroupsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    SyncGroupRequest,
)
from kgroup.wire.schema import Request
from tests.bad_input.sweeps.session import Session, live

Kind = type[Request[Any]]


@dataclass(frozen=True, slots=True)
class Price:
    """What a cut may cost, over a session that nothing happens to.

    Args:
        seconds: virtual.
        requests: how many more.
        unknown: commits whose outcome nobody knows, no more and no fewer.
    """

    seconds: float = 0.25
    requests: int = 7
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Which answer is cut.

    Args:
        kind: class of the request it answers.
        number: which of the session's, counted from 1.
        price: what that may cost.
        static: whether the member is static; only such a one asks DescribeGroups.
        step: bytes between two cuts; what was cut at every byte before need not be again.
    """

    kind: Kind
    number: int = 1
    price: Price = Price()
    static: bool = False
    step: int = 1

    def __str__(self) -> str:
        return f"{self.kind.__name__.removesuffix('Request')}-{self.number}"


_SESSION: Final = 6.0
_PENDING: Final = Price(_SESSION + 0.5, 28)
"""Of the answer that carries the member id: the coordinator waits a session for its owner."""

CUTS: Final = (
    Cut(ApiVersionsRequest),
    Cut(ApiVersionsRequest, 2, step=2),
    Cut(ApiVersionsRequest, 3, step=2),
    Cut(ApiVersionsRequest, 4, step=2),
    Cut(ApiVersionsRequest, 5, step=2),
    Cut(MetadataRequest),
    Cut(FindCoordinatorRequest),
    Cut(JoinGroupRequest, 1, _PENDING),
    Cut(JoinGroupRequest, 2),
    Cut(JoinGroupRequest, 3),
    Cut(SyncGroupRequest),
    Cut(SyncGroupRequest, 2),
    Cut(HeartbeatRequest),
    Cut(HeartbeatRequest, 2),
    Cut(OffsetFetchRequest),
    Cut(OffsetFetchRequest, 2),
    Cut(OffsetCommitRequest, 1, Price(unknown=1)),
    Cut(OffsetCommitRequest, 2, Price(unknown=1)),
    Cut(ListOffsetsRequest),
    Cut(FetchRequest),
    Cut(FetchRequest, 2),
    Cut(FetchRequest, 3),
    Cut(OffsetForLeaderEpochRequest),
    Cut(LeaveGroupRequest),
    Cut(DescribeGroupsRequest, static=True),
)
"""Every answer that is cut."""

_QUIET: Final = Price(0.6, 27)
"""What a session costs that nothing happens to."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has seen.

    Args:
        runs: how many sessions.
        faults: those that went wrong, each in a line.
        seconds: virtual, of the longest session.
        requests: of the session with the most.
    """

    runs: int
    faults: tuple[str, ...]
    seconds: float
    requests: int


async def size_of(cut: Cut) -> int:
    """Return the bytes of an answer, after a session that nothing happens to."""
    sizes: list[int] = []

    def measure(frame: bytes) -> bytes:
        sizes.append(len(frame))
        return frame

    session = await live(
        lambda broker: broker.answers.rewrite_bytes(cut.kind, measure, times=None),
        static=cut.static,
    )
    assert session.faults == []
    assert session.seconds <= _QUIET.seconds
    assert session.requests <= _QUIET.requests
    return sizes[cut.number - 1]


async def sweep(cut: Cut, lengths: Iterable[int], size: int) -> Swept:
    """Play a session for each length at which an answer ends.

    Args:
        cut: which answer.
        lengths: in bytes.
        size: of the whole answer; where nothing is missing of it, nothing is unknown.
    """
    played = [(after, await _played(cut, after)) for after in lengths]
    return Swept(
        len(played),
        tuple(
            f"{cut} cut after {after} bytes: {fault}"
            for after, session in played
            for fault in (*session.faults, *_over(session, cut.price, whole=after == size))
        ),
        max(session.seconds for _, session in played),
        max(session.requests for _, session in played),
    )


async def _played(cut: Cut, after: int) -> Session:
    asked = count(1)
    rules: list[Rule] = []

    def is_it(_: object) -> bool:
        return next(asked) == cut.number

    def spoil(broker: InProcessBroker) -> None:
        rules.append(broker.answers.cut(cut.kind, after=after, where=is_it))

    session = await live(spoil, static=cut.static)
    if [rule.count for rule in rules] != [1]:
        session.faults.append("nothing was cut")
    return session


def _over(session: Session, price: Price, *, whole: bool) -> list[str]:
    faults = []
    if session.seconds > _QUIET.seconds + price.seconds:
        faults.append(f"took {session.seconds:g} s")
    if session.requests > _QUIET.requests + price.requests:
        faults.append(f"took {session.requests} requests")
    if session.unknown != (0 if whole else price.unknown):
        faults.append(f"{session.unknown} commits of unknown outcome")
    return faults
