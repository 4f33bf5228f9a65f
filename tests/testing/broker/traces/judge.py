"""What became of a request here against what became of it there.

Decides: how exact times must be. A request that was parked must be parked here, one that was never
answered must not be answered here while its connection lasted.
"""

from typing import Any, Final

from kgroup.wire.messages import (
    DescribeGroupsResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from kgroup.wire.schema import Message
from tests.testing.broker.driver import Call
from tests.testing.broker.traces.compare import differences
from tests.testing.broker.traces.replay import Outcome

SLACK: Final = 0.2
"""Seconds between the recorded instant of an answer and ours: the recording machine was busy."""


def complaints(outcome: Outcome, lead: float) -> list[str]:
    """Return what differs; nothing when it is the same.

    Args:
        outcome: of one request.
        lead: agenda time at the beginning of the trace.
    """
    exchange, call = outcome.exchange, outcome.call
    if outcome.left_out:
        return []
    if exchange.codes is not None:
        return _poll_complaints(exchange.codes, call)
    if call is None or call.parked:
        if exchange.answered_at is None:
            return []
        return [f"answered at {exchange.answered_at:.3f} there, {_state(outcome)} here"]
    if call.hung_up:
        hung_up = exchange.answered_at is None and exchange.ended_at < float("inf")
        return [] if hung_up else ["hung up here"]
    assert call.answered_at is not None
    at = call.answered_at - lead
    if exchange.answered_at is None:
        if at >= exchange.ended_at - SLACK:
            return []
        return [f"never answered there, at {at:.3f} here: {call.answer!r}"[:300]]
    lines = []
    if abs(at - exchange.answered_at) > SLACK:
        lines.append(f"answered at {exchange.answered_at:.3f} there, at {at:.3f} here")
    if exchange.answer is None:
        return [*lines, "an answer that cannot be read"]
    return lines + differences(exchange.answer, call.now, exchange.version)


def _poll_complaints(codes: frozenset[str], call: Call[Any] | None) -> list[str]:
    code = "none" if call is None or call.answer is None else _code(call.answer)
    return [] if code in codes else [f"polled {' or '.join(sorted(codes))} there, {code} here"]


def _code(answer: Message) -> str:
    match answer:
        case OffsetCommitResponse():
            return str(int(answer.topics[0].partitions[0].error_code))
        case DescribeGroupsResponse():
            return answer.groups[0].group_state
        case OffsetFetchResponse():
            return str(answer.topics[0].partitions[0].committed_offset)
        case HeartbeatResponse() | JoinGroupResponse() | SyncGroupResponse():
            return str(int(answer.error_code))
    raise AssertionError(f"nobody polls for a {type(answer).__name__}")


def _state(outcome: Outcome) -> str:
    return "not asked" if outcome.call is None else "parked"
