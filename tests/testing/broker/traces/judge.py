"""What became of a request here against what became of it there.

Decides: how exact times must be. A request that was parked must be parked here, one that was never
answered must not be answered here while its connection lasted.
"""

from typing import Final

from tests.testing.broker.traces.compare import differences
from tests.testing.broker.traces.replay import Outcome

__all__ = ["complaints"]

SLACK: Final = 0.2
"""Seconds between the recorded instant of an answer and ours: the recording machine was busy."""


def complaints(outcome: Outcome, lead: float) -> list[str]:
    """Return what differs; nothing when it is the same.

    Args:
        outcome: of one request.
        lead: agenda time at the beginning of the trace.
    """
    exchange, call = outcome.exchange, outcome.call
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


def _state(outcome: Outcome) -> str:
    return "not asked" if outcome.call is None else "parked"
