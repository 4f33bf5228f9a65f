"""Trouble with the cluster of a simulated group: its coordinator, its topics, its offsets.

Decides: what each kind means to an in-process Kafka; what the coordinator has stored is journaled
as it stores it.
Never: touches members' processes or connections.
"""

from collections.abc import Callable
from typing import Final

from kgroup.journal import Source
from kgroup.journal.events.life import BROKER, CommitStored
from kgroup.testing import InProcessBroker
from kgroup.testing.broker.server.switchboard import Reaction
from kgroup.types import TopicPartition
from tests.search.simulation.live.crew import GROUP
from tests.search.simulation.plan import Kind, Perturbation
from tests.search.simulation.recorder import Known, MemberSink, Recorder, stored

_SOURCE: Final = Source(host="simulated", process=BROKER, member=BROKER, group=GROUP)


class Truth:
    """Journals what the coordinator of a group has stored.

    Args:
        broker: the cluster.
        recorder: takes the entries.
    """

    def __init__(self, broker: InProcessBroker, recorder: Recorder) -> None:
        self._board = broker.board
        self._sink = MemberSink(recorder, _SOURCE)
        self._seen: Reaction | None = None
        self._board.listeners.append(self._look)

    def forgotten(self, tp: TopicPartition) -> None:
        """Journal that an administrator deleted a commit."""
        self._sink.emit(CommitStored(tp=tp, offset=None))

    def _look(self) -> None:
        """Look at what was answered since the last time; called after each change."""
        reactions = self._board.reactions
        if not reactions or reactions[-1] is self._seen:
            return
        new: list[Reaction] = []
        for reaction in reversed(reactions):
            if reaction is self._seen:
                break
            new.append(reaction)
        self._seen = reactions[-1]
        group = self._board.core.coordinators.shard_of(GROUP).groups.get(GROUP)
        for reaction in reversed(new):
            for event in stored(reaction.request, reaction.answer, group):
                self._sink.emit(event)


class ClusterTrouble:
    """Makes trouble for one group.

    Args:
        broker: the cluster.
        truth: journals what was stored, None when nothing does.
        known: learns which topics there are.
    """

    def __init__(self, broker: InProcessBroker, truth: Truth | None, known: Known) -> None:
        self._broker = broker
        self._known = known
        self.group = broker.group(GROUP)
        self._truth = truth
        self._tell()

    def make(self, what: Perturbation, seconds: float) -> Callable[[], None] | None:
        """Make one kind of trouble; return what ends it, None if there was nothing to make it for.

        Args:
            what: it is.
            seconds: that it lasts.
        """
        match what.kind:
            case Kind.COORDINATOR_KILLED:
                return self._kill()
            case Kind.COORDINATOR_MOVED:
                done = self._move()
            case Kind.COORDINATOR_LOADS:
                done = self.group.coordinator is not None
                self.group.load(seconds)
            case Kind.ADD_PARTITIONS:
                done = self._widen(what.member, what.number)
            case Kind.DELETE_TOPIC:
                done = self._delete()
            case Kind.DELETE_OFFSETS:
                done = self._forget()
            case _:
                self.produce(3 * what.number)
                done = True
        return _nothing if done else None

    # -- the coordinator -------------------------------------------------------------------------

    def _kill(self) -> Callable[[], None] | None:
        if self.group.coordinator is None:
            return None
        node = self._broker.node(self.group.coordinator)
        node.kill()
        return node.start

    def _move(self) -> bool:
        if self._down() or self._broker.nodes < 2 or self.group.coordinator is None:
            return False
        self.group.move()
        return True

    def _down(self) -> bool:
        return not all(self._broker.node(n + 1).alive for n in range(self._broker.nodes))

    def evict(self, client: str) -> bool:
        """Remove a member from the group; tell whether it is one."""
        if client not in [member.client_id for member in self.group.members]:
            return False
        self.group.expire(client)
        return True

    # -- topics ----------------------------------------------------------------------------------

    def topics(self) -> dict[str, int]:
        """Return topic -> partitions, as they are now."""
        topics = self._broker.core.cluster.topics.values()
        return {topic.name: len(topic.partitions) for topic in topics if not topic.internal}

    def _tell(self) -> None:
        self._known.partitions.clear()
        self._known.partitions.update(self.topics())

    def _widen(self, which: int, count: int) -> bool:
        topics = self.topics()
        if self._down() or not topics:
            return False  # replicas cannot be placed while a broker is down
        topic = sorted(topics)[which % len(topics)]
        self._broker.add_partitions(topic, topics[topic] + max(count, 1))
        self._tell()
        return True

    def _delete(self) -> bool:
        topics = sorted(self.topics())
        if self._down() or len(topics) < 2:
            return False
        gone = [tp for tp in self.group.offsets if tp.topic == topics[-1]]
        self._broker.delete_topic(topics[-1])
        self._tell()
        self._forgotten(gone)
        return True

    def _forget(self) -> bool:
        offsets = sorted(self.group.offsets)
        with self._broker.changing() as core:
            core.coordinators.shard_of(GROUP).offsets.remove(GROUP, offsets)
        self._forgotten(offsets)
        return bool(offsets)

    def _forgotten(self, tps: list[TopicPartition]) -> None:
        for tp in tps:
            if self._truth is not None:
                self._truth.forgotten(tp)

    def produce(self, count: int) -> None:
        """Append records to every partition that has a leader."""
        for topic, width in self.topics().items():
            for number in range(width):
                partition = self._broker.partition(topic, number)
                if partition.leader is not None:
                    partition.append(*[b"r"] * count)

    def ends(self) -> dict[TopicPartition, int]:
        """Return where the logs end."""
        return {
            TopicPartition(topic, number): self._broker.partition(topic, number).high_watermark
            for topic, width in self.topics().items()
            for number in range(width)
        }


def _nothing() -> None:
    """End what has no end."""
