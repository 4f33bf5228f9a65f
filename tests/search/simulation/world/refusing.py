"""Answers of a coordinator that refuses what it is asked.

Decides: which answers are refused meanwhile, and the shape of a refusal of each request.
Never: lets what is refused have any effect; says that something has ended while it goes on: for
such a code the coordinator is given a reason, and answers by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kgroup.codes import ApiKey, ErrorCode
from kgroup.testing.broker.agenda import Agenda
from kgroup.wire.messages import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kgroup.wire.schema import Message, Request
from tests.search.simulation.world.reasons import ENDING


@dataclass(slots=True)
class _Refusal:
    code: ErrorCode
    left: int
    until: float


@dataclass(slots=True)
class Refusals:
    """What one process is refused meanwhile.

    Args:
        clock: of the run.
        bring_about: gives the coordinator reason to refuse a request with a code that ends
            something.
        renew: begins the member's session anew: a coordinator that tells of a round takes that
            request for a sign of life, and its member relies on it.
    """

    clock: Agenda
    bring_about: Callable[[Request[Any], ErrorCode], None]
    renew: Callable[[], None]
    _rows: dict[ApiKey, _Refusal] = field(default_factory=dict)

    def refuse(self, api: ApiKey, code: ErrorCode, times: int, until: float) -> None:
        """Refuse the next requests of a kind, in the place of what was to be refused of it."""
        self._rows[api] = _Refusal(code, times, until)

    def answer(self, request: Request[Any]) -> Message | None:
        """Return the refusal of a request, None when it is to be served.

        Of a JoinGroup no coordinator says that its generation is another; a member has to bear it,
        and finds that so it is.
        """
        row = self._rows.get(request.api_key)
        if row is None or row.left < 1 or self.clock.now > row.until:
            return None
        row.left -= 1
        if row.code in ENDING:
            self.bring_about(request, row.code)
            if (request.api_key, row.code) != (ApiKey.JOIN_GROUP, ErrorCode.ILLEGAL_GENERATION):
                return None
        elif row.code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.renew()
        return refusal(request, row.code)


def refusal(request: Request[Any], code: int) -> Message:
    """Return the answer that refuses a request.

    Args:
        request: of a group API.
        code: why.
    """
    match request:
        case FindCoordinatorRequest():  # several keys since version 4 (KIP-699)
            rows = tuple(
                Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code)
                for key in request.coordinator_keys
            )
            return FindCoordinatorResponse(coordinators=rows)
        case JoinGroupRequest():
            return JoinGroupResponse(
                error_code=code,
                generation_id=-1,
                protocol_name=None,
                leader="",
                member_id=request.member_id,
                members=(),
            )
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=code, assignment=b"")
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=code)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=code)
        case OffsetCommitRequest():
            return _commit(request, code)
        case _:
            raise AssertionError(f"{request.api_key.name} is never refused")


def _commit(request: OffsetCommitRequest, code: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=row.partition_index, error_code=code
                    )
                    for row in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )
