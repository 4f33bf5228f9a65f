"""Where an error code is put: an API, a level of its answer, and what brings it on.

Decides: how an owner of a partition is made to ask each API, and how its answer is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kgroup.codes import ApiKey
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.faults import Rule
from kgroup.wire.messages import (
    ApiVersionsRequest,
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
from kgroup.wire.schema import Request, replace
from tests.bad_input.sweeps.session import GROUP, TP

GIVEN: Final = "given by the error"
"""Member id in a refusal of JoinGroup."""

_NOT_COORDINATOR: Final = 16
_DEAD_FOLLOWER: Final = 9
_MEMBER_ID_REQUIRED: Final = 79

Where = Callable[[Any], bool]
Refuse = Callable[[Any, Any, int], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """One level of one API's answer.

    Args:
        kind: class of the request.
        bring_on: has the consumer ask it; it owns a partition and has read and committed.
        refuse: makes the refusal of (request, answer, code); None = instead of any effect, in all
            that was asked for.
        level: what of the answer is refused, where there are several.
        assignor: `range` gives up everything in a round, and asks for offsets again behind it.
        only: the one code that `refuse` is for, None = all.
        metadata_max_age: of the consumer; what is refused for good is asked for so often.
        is_second: whether another level of the same answer is tried with every code.
    """

    kind: type[Request[Any]]
    bring_on: Callable[[InProcessBroker], object]
    refuse: Refuse | None = None
    level: str = ""
    assignor: str = "cooperative-sticky"
    only: int | None = None
    metadata_max_age: float = 300.0
    is_second: bool = False

    def __str__(self) -> str:
        return f"{self.api.name}{self.level and '-'}{self.level}"

    @property
    def api(self) -> ApiKey:
        """Key of the API."""
        return self.kind.api_key

    def lay(self, broker: InProcessBroker, code: int, *, where: Where, times: int | None) -> Rule:
        """Lay down the rule that refuses."""
        refuse = self.refuse
        if refuse is None or (self.only is not None and code != self.only):
            return broker.answers.error(self.kind, code, where=where, times=times)
        return broker.answers.rewrite(
            self.kind, lambda asked, answer: refuse(asked, answer, code), where=where, times=times
        )


# -- what brings a request on --------------------------------------------------------------------


def _nothing(_: InProcessBroker) -> None:
    """It comes by itself, or the application asks for it."""


def _connections_break(broker: InProcessBroker) -> None:
    broker.node(1).disconnect()


def _coordinator_resigns(broker: InProcessBroker) -> None:
    broker.answers.error(HeartbeatRequest, _NOT_COORDINATOR)


def _round(broker: InProcessBroker) -> None:
    group = broker.group(GROUP)
    if group.members:
        group.rebalance()


def _leader_is_elected(broker: InProcessBroker) -> None:
    """The same one again, under the next epoch."""
    broker.partition(*TP).move_to(1)


def _position_is_lost(broker: InProcessBroker) -> None:
    broker.answers.error(FetchRequest, 1)


# -- levels --------------------------------------------------------------------------------------


def _joined(_: JoinGroupRequest, answer: Any, code: int) -> Any:
    return replace(answer, error_code=code, member_id=GIVEN, generation_id=-1, members=())


def _whole(_: object, answer: Any, code: int) -> Any:
    return replace(answer, error_code=code)


def _fetched_whole(_: object, answer: Any, code: int) -> Any:
    return replace(answer, error_code=code, responses=())


def _metadata_whole(_: object, answer: Any, code: int) -> Any:
    return replace(answer, error_code=code, topics=())


def _topics_of_metadata(_: object, answer: Any, code: int) -> Any:
    """Brokers name no partitions of a topic they refuse; what is no refusal comes with them."""
    kept = {} if code == _DEAD_FOLLOWER else {"partitions": ()}
    topics = tuple(replace(topic, error_code=code, **kept) for topic in answer.topics)
    return replace(answer, topics=topics)


def _partitions_of_metadata(_: object, answer: Any, code: int) -> Any:
    topics = tuple(
        replace(topic, partitions=tuple(replace(row, error_code=code) for row in topic.partitions))
        for topic in answer.topics
    )
    return replace(answer, topics=topics)


def _groups_of_offsets(_: object, answer: Any, code: int) -> Any:
    groups = tuple(replace(group, error_code=code, topics=()) for group in answer.groups)
    return replace(answer, groups=groups)


def _partitions_of_offsets(_: object, answer: Any, code: int) -> Any:
    def refused(topic: Any) -> Any:
        rows = topic.partitions
        return replace(
            topic,
            partitions=tuple(replace(r, error_code=code, committed_offset=-1) for r in rows),
        )

    groups = tuple(
        replace(group, topics=tuple(map(refused, group.topics))) for group in answer.groups
    )
    return replace(answer, groups=groups)


def _members_that_leave(_: object, answer: Any, code: int) -> Any:
    members = tuple(replace(member, error_code=code) for member in answer.members)
    return replace(answer, members=members)


PLACES: Final = (
    Place(ApiVersionsRequest, _connections_break),
    Place(MetadataRequest, _leader_is_elected, _topics_of_metadata, "topics", metadata_max_age=4.0),
    Place(MetadataRequest, _leader_is_elected, _metadata_whole, "whole", is_second=True),
    Place(
        MetadataRequest, _leader_is_elected, _partitions_of_metadata, "partitions", is_second=True
    ),
    Place(FindCoordinatorRequest, _coordinator_resigns),
    Place(JoinGroupRequest, _round, _joined, only=_MEMBER_ID_REQUIRED),
    Place(SyncGroupRequest, _round),
    Place(HeartbeatRequest, _nothing),
    Place(OffsetFetchRequest, _round, _groups_of_offsets, "group", "range"),
    Place(
        OffsetFetchRequest, _round, _partitions_of_offsets, "partitions", "range", is_second=True
    ),
    Place(OffsetCommitRequest, _nothing),
    Place(ListOffsetsRequest, _position_is_lost),
    Place(FetchRequest, _nothing, level="partitions"),
    Place(FetchRequest, _nothing, _fetched_whole, "whole", is_second=True),
    Place(OffsetForLeaderEpochRequest, _round, assignor="range"),
    Place(LeaveGroupRequest, _nothing, _whole, "whole"),
    Place(LeaveGroupRequest, _nothing, _members_that_leave, "members", is_second=True),
)
"""All places: 12 APIs."""
