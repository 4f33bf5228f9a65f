"""Records passed over because a deserialiser refused them (`on_deserialize_error="skip"`).

Decides: how many there were, and when a person hears of them: the first of a burst is logged, the
rest of it counted.
Never: logs a key, a value, or a deserialiser's own words, which may quote them.
"""

import logging
from typing import Final

from kgroup.errors import DeserializationError
from kgroup.net.ports import Clock

__all__ = ["PassedOver"]

log = logging.getLogger(__name__)

_BURST: Final = 60.0
"""Seconds in which refusals of one kind count as one burst."""

_Cause = tuple[str, str, str]
"""Topic, field, and name of the exception's class."""


class PassedOver:
    """Counts for one consumer.

    Args:
        clock: monotonic seconds.
    """

    __slots__ = ("_clock", "_told", "count")

    def __init__(self, clock: Clock) -> None:
        self.count: int = 0
        """Records passed over since the consumer was entered."""
        self._clock = clock
        self._told: dict[_Cause, tuple[float, int]] = {}

    def note(self, error: DeserializationError) -> None:
        """Count one record; log it when it begins a burst."""
        self.count += 1
        cause = (error.tp.topic, error.field, type(error.__cause__).__name__)
        told_at, unsaid = self._told.get(cause, (None, 0))
        now = self._clock()
        if told_at is not None and now - told_at < _BURST:
            self._told[cause] = told_at, unsaid + 1
            return
        self._told[cause] = now, 0
        log.warning(
            "partition=%s offset=%d passed over: its %s cannot be deserialised (%s); "
            "%d more of this kind since the last such line",
            error.tp,
            error.offset,
            error.field,
            cause[-1],
            unsaid,
        )
