"""Trouble with the cluster of a simulated group: its coordinator, its topics, its offsets.

Decides: what each kind means to an in-process Kafka.
Never: touches members' processes or connections.
"""

import anyio

from kgroup.testing import InProcessBroker
from kgroup.testing.simulation.live.crew import GROUP
from kgroup.testing.simulation.perturbation import Kind, Perturbation

__all__ = ["ClusterTrouble"]


class ClusterTrouble:
    """Makes trouble for one group.

    Args:
        broker: the cluster.
    """

    def __init__(self, broker: InProcessBroker) -> None:
        self._broker = broker
        self._group = broker.group(GROUP)

    async def make(self, what: Perturbation, client: str, seconds: float) -> bool:
        """Make one kind of trouble; tell whether there was anything to make it for.

        Args:
            what: it is.
            client: client id of the member it is about.
            seconds: that it lasts.
        """
        match what.kind:
            case Kind.COORDINATOR_KILLED:
                return await self._kill(seconds)
            case Kind.COORDINATOR_MOVED:
                return self._move()
            case Kind.COORDINATOR_LOADS:
                self._group.load(seconds)
                return True
            case Kind.EVICT:
                return self._evict(client)
            case Kind.ADD_PARTITIONS:
                return self._widen(what.number)
            case Kind.DELETE_TOPIC:
                return self._delete(what.number)
            case Kind.DELETE_OFFSETS:
                return self._forget()
            case Kind.PRODUCE:
                self.produce(what.number)
                return True
            case _:
                return False

    async def _kill(self, seconds: float) -> bool:
        node_id = self._group.coordinator
        if node_id is None:
            return False
        node = self._broker.node(node_id)
        node.kill()
        await anyio.sleep(seconds)
        node.start()
        return True

    def _move(self) -> bool:
        up = [node for node in range(1, self._broker.nodes + 1) if self._broker.node(node).alive]
        if len(up) < 2 or self._group.coordinator is None:
            return False
        self._group.move()
        return True

    def _evict(self, client: str) -> bool:
        if client not in [member.client_id for member in self._group.members]:
            return False
        self._group.expire(client)
        return True

    def topics(self) -> dict[str, int]:
        """Return topic -> partitions, as they are now."""
        topics = self._broker.core.cluster.topics.values()
        return {topic.name: len(topic.partitions) for topic in topics if not topic.internal}

    def _one(self, number: int) -> str | None:
        topics = [*self.topics()]
        return topics[number % len(topics)] if topics else None

    def _widen(self, number: int) -> bool:
        topic = self._one(number)
        if topic is None:
            return False
        self._broker.add_partitions(topic, self.topics()[topic] + max(number, 1))
        return True

    def _delete(self, number: int) -> bool:
        topic = self._one(number)
        if topic is None:
            return False
        self._broker.delete_topic(topic)
        return True

    def _forget(self) -> bool:
        offsets = [*self._group.offsets]
        with self._broker.changing() as core:
            core.coordinators.shard_of(GROUP).offsets.remove(GROUP, offsets)
        return bool(offsets)

    def produce(self, count: int) -> None:
        """Append records to every partition that has a leader."""
        for topic, width in self.topics().items():
            for number in range(width):
                partition = self._broker.partition(topic, number)
                if partition.leader is not None:
                    partition.append(*[b"r"] * count)
