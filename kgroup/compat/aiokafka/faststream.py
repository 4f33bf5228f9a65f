"""aiokafka's consumer on kgroup, for FastStream, which reads a little more than public calls.

    import aiokafka
    from kgroup.compat.aiokafka.faststream import AIOKafkaConsumer

    aiokafka.AIOKafkaConsumer = AIOKafkaConsumer  # before a KafkaBroker is made

FastStream 0.7 names the member, its group and its topics in the lines it logs about assignments,
and takes them from private attributes of aiokafka's consumer. Without them its listener fails, and
with it the listener of the application, which it calls after its own line.

Decides: which private attributes those are.
Never: offers one that no line of FastStream reads; imports FastStream.
"""

from kgroup.compat.aiokafka.consumer import AIOKafkaConsumer as Facade
from kgroup.values import dataclass

__all__ = ["AIOKafkaConsumer"]


@dataclass(frozen=True, slots=True)
class _Coordinator:
    member_id: str


@dataclass(frozen=True, slots=True)
class _Subscription:
    topics: frozenset[str]


class AIOKafkaConsumer(Facade):
    """The facade, and what FastStream's log reads besides its calls.

    Args:
        topics: to subscribe to; none to call `subscribe` or `assign` later.
        ports: kgroup's own: network, clocks and dice, None for the real ones; for tests.
        keywords: as aiokafka's constructor.
    """

    @property
    def _coordinator(self) -> _Coordinator:
        """Its identity in the group; the empty id, as aiokafka has it, outside a group."""
        generation = self._native().membership.generation
        return _Coordinator("" if generation is None else generation.member_id)

    @property
    def _group_id(self) -> str | None:
        """The name of its group, None without one."""
        return self._options.facade.group_id

    @property
    def _subscription(self) -> _Subscription:
        """The topics it reads."""
        return _Subscription(self.subscription())
