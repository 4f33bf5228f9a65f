"""How an entered consumer is doing, in numbers.

Decides: where each number is found.
Never: judges them; `kgroup.observe.health` does.
"""

import math
from typing import Protocol, runtime_checkable

from kgroup.config import ConsumerConfig
from kgroup.consumer.assembly import Parts, member_started
from kgroup.consumer.buffer.owned import Owned
from kgroup.frozen import replace
from kgroup.journal import MemberStarted
from kgroup.observe.vitals import Part, Pulse, Vitals
from kgroup.types import Backend


@runtime_checkable
class PulsingBackend(Protocol):
    """A backend whose membership ends unless it is confirmed."""

    def pulse(self) -> Pulse:
        """Return until when, and since when."""
        ...


def vitals_of(config: ConsumerConfig, parts: Parts) -> Vitals:
    """Return how a consumer is doing now.

    Args:
        config: all options.
        parts: of the consumer.
    """
    backend = parts.gate.backend
    polled_at, running = parts.reading.noted_at, parts.calls.running
    vitals = Vitals(
        at=parts.ports.clock(),
        membership=backend.membership,
        parts=tuple(_part(parts, owned) for owned in parts.delivery.owned),
        polled_at=None if polled_at == -math.inf else polled_at,
        listener=running,
        failure=parts.gate.failure,
        closed=parts.gate.closed,
    )
    if not isinstance(backend, PulsingBackend):
        return vitals
    limits = member_started(config)
    beats = None if config.backend is Backend.MARSHAL else limits.heartbeat_interval
    return replace(
        vitals,
        pulse=backend.pulse(),
        poll_interval=config.poll_interval,
        lease=_lease(limits),
        heartbeat_interval=beats,
        isolated=config.isolated_heartbeats,
    )


def _lease(limits: MemberStarted) -> float | None:
    ends = [each for each in (limits.session_timeout, limits.rebalance_timeout) if each is not None]
    return min(ends) - (limits.lease_margin or 0.0) if ends else None


def _part(parts: Parts, owned: Owned) -> Part:
    ledger, claim = parts.delivery.ledger, owned.claim
    done, lag = ledger.committable(claim), parts.flow.lag(claim.tp)
    handed = ledger.handed(claim)
    end = None if lag is None or handed is None else handed + lag
    return Part(claim, None if done is None else done.offset, handed, end, owned.paused)
