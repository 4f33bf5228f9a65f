"""Listeners of kafka-python, called for changes in ours.

Decides: which of our changes its callbacks hear: sets of kafka-python's TopicPartition; before each
assignment of an eager group `on_partitions_revoked`, with the empty set before the first; of a
cooperative one only what moves; nothing when the application unsubscribes. One that raises is a
KafkaError of the next `poll`. What an eager round takes and gives back at once keeps its position
and its pause, committed or not, as there; not in another membership, before which somebody else may
have read on.
A partition is among those reported from the call of `on_partitions_assigned` on, also when nobody
listens.
Never: runs an asynchronous listener: what it awaits belongs to kafka-python's own loop.
KIPs: 429 (what moves; losses).
"""

from collections.abc import Callable, Iterable
from typing import Any

from kafka import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafka.errors import KafkaConfigurationError, KafkaError
from kafka.structs import TopicPartition

from kgroup.errors import KGroupError
from kgroup.sync import Consumer
from kgroup.types import Cause, Claim, OwnershipChange
from kgroup.types import TopicPartition as OurPartition
from kgroup.values import dataclass

__all__ = ["AdaptedListener", "Reported", "adapted"]


@dataclass(slots=True)
class Reported:
    """What the application knows of its group's assignment.

    Args:
        partitions: that were assigned, and not given back since.
    """

    partitions: frozenset[OurPartition] = frozenset()


def adapted(listener: object, reported: Reported, *, eager: bool) -> "AdaptedListener":
    """Return a listener for `kgroup.sync.Consumer`.

    Args:
        listener: a `kafka.ConsumerRebalanceListener`, or None for one that tells nobody.
        reported: is kept up to date.
        eager: whether the group hands back everything at each rebalance.

    Raises:
        TypeError: it is something else.
        KafkaConfigurationError: it is an AsyncConsumerRebalanceListener.
    """
    if isinstance(listener, AsyncConsumerRebalanceListener):
        raise KafkaConfigurationError(
            "an AsyncConsumerRebalanceListener cannot be honoured: what it awaits belongs to "
            "kafka-python's own loop; take a ConsumerRebalanceListener, which may block here"
        )
    if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
        raise TypeError(
            "listener must be a ConsumerRebalanceListener or AsyncConsumerRebalanceListener"
        )
    return AdaptedListener(listener, reported, eager=eager)


class AdaptedListener:
    """One listener of kafka-python, as `kgroup.sync.Consumer` calls it.

    Args:
        listener: its callbacks are plain; None for none.
        reported: as for `adapted`.
        eager: likewise.
    """

    def __init__(
        self, listener: ConsumerRebalanceListener | None, reported: Reported, *, eager: bool
    ) -> None:
        self._listener = listener
        self._reported = reported
        self._eager = eager
        self._revoked = False
        self._member_id: str | None = None
        self._kept: dict[OurPartition, tuple[int | None, bool]] = {}

    def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        """Tell what a round added; of an eager one that is everything."""
        self._reported.partitions = frozenset(claim.tp for claim in (*change.kept, *change.added))
        kept, self._kept = self._kept, {}
        if _member_id(change) != self._member_id:
            # 1. All is given back for a round; 2. the membership ends before there is another
            # assignment; 3. another member reads on; 4. the partition comes back to this one.
            kept = {}
        for claim in change.added:
            position, paused = kept.get(claim.tp, (None, False))
            if position is not None:
                consumer.seek(claim.tp, position)
            if paused:
                consumer.pause(claim.tp)
        if self._listener is None:
            return
        if self._eager and not self._revoked:
            _tell(self._listener.on_partitions_revoked, ())
        self._revoked = False
        if self._eager or change.added:
            _tell(self._listener.on_partitions_assigned, change.added)

    def on_revoked(self, consumer: Consumer[Any, Any], change: OwnershipChange, /) -> None:
        """Tell what the group asks back, or what closing gives up."""
        if change.cause is Cause.UNSUBSCRIBED:
            self._forget(change)
            return
        try:
            if self._listener is not None:
                self._revoked = True
                _tell(self._listener.on_partitions_revoked, change.removed)
        finally:
            self._forget(change)
            if self._eager:
                self._member_id, paused = _member_id(change), consumer.paused()
                self._kept = {
                    claim.tp: (_position(consumer, claim.tp), claim.tp in paused)
                    for claim in change.removed
                }

    def on_lost(self, consumer: object, change: OwnershipChange, /) -> None:
        """Tell what is gone."""
        del consumer
        self._forget(change)
        self._kept = {}
        if self._listener is not None:
            self._revoked = True
            _tell(self._listener.on_partitions_lost, change.removed)

    def _forget(self, change: OwnershipChange) -> None:
        self._reported.partitions -= {claim.tp for claim in change.removed}


def _member_id(change: OwnershipChange) -> str | None:
    return None if change.generation is None else change.generation.member_id


def _position(consumer: Consumer[Any, Any], tp: OurPartition) -> int | None:
    try:
        return consumer.position(tp, timeout=0.0)
    except (KGroupError, TimeoutError):
        return None  # it has none yet; the next owner, ourselves perhaps, begins where it may


def _tell(callback: Callable[[set[TopicPartition]], object], claims: Iterable[Claim]) -> None:
    try:
        callback({TopicPartition(*claim.tp) for claim in claims})
    except Exception as error:
        raise KafkaError("User rebalance callback throws an error") from error
