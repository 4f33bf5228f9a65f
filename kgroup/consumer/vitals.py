"""How an entered consumer is doing, in numbers.

Decides: where each number is found.
Never: judges them; `kgroup.observe.health` does.
"""

import math

from kgroup.backends.backend import PulsingBackend
from kgroup.config import ConsumerConfig
from kgroup.consumer.assembly import Parts
from kgroup.consumer.buffer.owned import Owned
from kgroup.frozen import replace
from kgroup.observe.vitals import Part, Vitals


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
    return replace(
        vitals,
        pulse=backend.pulse(),
        poll_interval=config.poll_interval,
        isolated=config.isolated_heartbeats,
    )


def _part(parts: Parts, owned: Owned) -> Part:
    ledger, claim = parts.delivery.ledger, owned.claim
    done, lag = ledger.committable(claim), parts.flow.lag(claim.tp)
    handed = ledger.handed(claim)
    end = None if lag is None or handed is None else handed + lag
    return Part(claim, None if done is None else done.offset, handed, end, owned.paused)
