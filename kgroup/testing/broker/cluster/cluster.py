"""The brokers, topics and leaders of one cluster.

Decides: the leader of each partition when brokers die, stop and come back, and when the others
learn it (`broker_facts.md` F1, F2, F5): a broker that is killed keeps its partitions until
`election_delay` has passed, one that stops in good order hands them over at once, one that comes
back follows, except where there is no leader. Internal topics: the leader of a partition of the
offsets topic is the coordinator of its groups.
Never: answers requests; `requests` and its neighbours do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kgroup.codes import ErrorCode
from kgroup.testing.broker.cluster.elections import Elections
from kgroup.testing.broker.cluster.topics import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Node,
    Partition,
    Topic,
    fault_of_name,
    place,
)
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators
from kgroup.testing.broker.logs.log import Log
from kgroup.testing.broker.mint import group_partition
from kgroup.types import TopicPartition

__all__ = ["OFFSETS_TOPIC", "TRANSACTIONS_TOPIC", "Cluster", "Node", "Partition", "Topic"]

_REPLICATION = 3
_NO_ID = bytes(16)


class Cluster:
    """The state that all brokers share.

    Args:
        context: clock, settings, ids.
        nodes: how many brokers, at least 1; their ids are 1 to n.
        coordinators: hear which broker has which partition of the offsets topic.

    Attributes:
        nodes: by id.
        topics: by name, in the order in which they were made.
        cluster_id: 16 bytes.
        on_leader_changed: called with a partition after each change of its leader.
        on_node_down: called with a node id when its process ended; its connections are gone.
        on_topic_deleted: called with a topic that is not among `topics` any more.
    """

    def __init__(self, context: Context, nodes: int, coordinators: Coordinators) -> None:
        if nodes < 1:
            raise ValueError(f"a cluster needs at least one broker, not {nodes}")
        self.context = context
        self.coordinators = coordinators
        self.nodes: dict[int, Node] = {
            each: Node(each, f"broker-{each}") for each in range(1, nodes + 1)
        }
        self.topics: dict[str, Topic] = {}
        self.cluster_id: bytes = context.mint.uuid()
        self.on_topic_deleted: list[Callable[[Topic], None]] = []
        self._ids: dict[bytes, Topic] = {}
        self._being_made: set[str] = set()
        self._elections = Elections(context, self.nodes, self.topics, coordinators)
        self.on_leader_changed: list[Callable[[Partition], None]] = (
            self._elections.on_leader_changed
        )
        self.on_node_down: list[Callable[[int], None]] = self._elections.on_node_down
        if context.settings.offsets_topic_creation <= 0:
            offsets = self._create_internal(OFFSETS_TOPIC)
            coordinators.homes[:] = [partition.leader for partition in offsets.partitions]

    # -- looking ---------------------------------------------------------------------------------

    def topic(self, name: str) -> Topic | None:
        """Return a topic, None without one of this name."""
        return self.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> Topic | None:
        """Return a topic, None without one of this id."""
        return self._ids.get(topic_id)

    def partition(self, tp: TopicPartition) -> Partition | None:
        """Return a partition, None if it does not exist."""
        topic = self.topics.get(tp[0])
        if topic is None or not 0 <= tp[1] < len(topic.partitions):
            return None
        return topic.partitions[tp[1]]

    def find(self, name: str | None, topic_id: bytes, number: int) -> Partition | ErrorCode:
        """Return the partition a request means, or why there is none.

        Args:
            name: of the topic; None or empty in requests that name topics by id.
            topic_id: 16 bytes; all zero in requests that name topics by name.
            number: of the partition.

        Returns:
            The partition; 100 for an unknown id, 3 for an unknown name or number.
        """
        by_id = topic_id != _NO_ID
        topic = self._ids.get(topic_id) if by_id else self.topics.get(name or "")
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if not 0 <= number < len(topic.partitions):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return topic.partitions[number]

    @property
    def partitions(self) -> Iterator[Partition]:
        """All partitions of all topics."""
        return (each for topic in self.topics.values() for each in topic.partitions)

    @property
    def usable(self) -> list[int]:
        """Ids of the brokers that the controller takes for alive, ascending."""
        return [each.node_id for each in self.nodes.values() if not each.fenced]

    @property
    def controller(self) -> int | None:
        """Id of the broker that passes for the controller, None while all are down."""
        return min(self.usable, default=None)

    # -- topics ----------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replicas: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        placement: Sequence[tuple[int, ...]] | None = None,
    ) -> Topic:
        """Make a topic; it is there at once, on every broker.

        Args:
            name: free.
            partitions: how many; None = `default_partitions` of the settings.
            replicas: of each partition; None = as many as there are brokers, at most 3.
            configs: settings.
            placement: replicas of each partition, instead of both counts.

        Raises:
            ValueError: the name is taken or none of a topic, or see `placed`.
        """
        fault = fault_of_name(name)
        if fault is not None:
            raise ValueError(fault)
        if name in self.topics:
            raise ValueError(f"there is a topic {name!r} already; delete it first")
        topic = Topic(name, self.context.mint.uuid(), configs=dict(configs or {}))
        if placement is None:
            count = self.context.settings.default_partitions if partitions is None else partitions
            placement = self.placed(0, count, replicas)
        topic.internal = name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
        self.topics[name] = self._ids[topic.topic_id] = topic
        self._widen(topic, placement)
        return topic

    def add_partitions(
        self, name: str, total: int, *, placement: Sequence[tuple[int, ...]] | None = None
    ) -> None:
        """Make a topic wider.

        Args:
            name: of the topic.
            total: partitions it has then.
            placement: replicas of each new partition; None = chosen.

        Raises:
            ValueError: there is no such topic, or it has so many partitions already.
        """
        topic = self._existing(name)
        present = len(topic.partitions)
        if total <= present:
            raise ValueError(f"topic {name!r} has {present} partitions already, asked for {total}")
        if placement is None:
            replicas = len(topic.partitions[0].replicas)
            placement = self.placed(present, total - present, replicas)
        self._widen(topic, placement)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records; one of the same name made later is another topic.

        Raises:
            ValueError: there is no such topic, or it is Kafka's own.
        """
        topic = self._existing(name)
        if topic.internal:
            raise ValueError(f"topic {name!r} is Kafka's own; groups and transactions need it")
        del self.topics[name], self._ids[topic.topic_id]
        for act in self.on_topic_deleted:
            act(topic)
        for partition in topic.partitions:
            partition.log.bell.ring()

    @property
    def default_replication(self) -> int:
        """Replicas of a partition unless the request says how many: one per broker, at most 3."""
        return min(_REPLICATION, len(self.nodes))

    def placed(self, first: int, count: int, replicas: int | None) -> list[tuple[int, ...]]:
        """Choose replicas for new partitions.

        Args:
            first: number of the first one.
            count: how many, at least 1.
            replicas: of each; None = `default_replication`.

        Raises:
            ValueError: a count is below 1, there are not so many brokers, or none is up.
        """
        usable = self.usable
        wanted = self.default_replication if replicas is None else replicas
        if count < 1:
            raise ValueError(f"a topic needs at least one partition, not {count}")
        if not usable or not 1 <= wanted <= len(self.nodes):
            total = len(self.nodes)
            raise ValueError(
                f"{wanted} replicas asked for; {len(usable)} of {total} brokers are up"
            )
        down = [each for each in self.nodes if each not in usable]
        return place(first, count, wanted, usable, down)

    def _existing(self, name: str) -> Topic:
        topic = self.topics.get(name)
        if topic is None:
            raise ValueError(f"there is no topic {name!r}; there are {sorted(self.topics)}")
        return topic

    def _widen(self, topic: Topic, placement: Sequence[tuple[int, ...]]) -> None:
        for replicas in placement:
            tp = TopicPartition(topic.name, len(topic.partitions))
            up = tuple(each for each in replicas if not self.nodes[each].fenced)
            leader = up[0] if up else None
            log = Log(self.context, topic.configs)
            log.begin_epoch(0)
            isr = up or replicas
            partition = Partition(tp, topic.topic_id, leader, 0, replicas, isr, log)
            topic.partitions.append(partition)

    # -- internal topics -------------------------------------------------------------------------

    def internal_topic(self, name: str) -> Topic | None:
        """Return one of Kafka's own topics; if it is not there, begin to make it (F6).

        Args:
            name: `OFFSETS_TOPIC` or `TRANSACTIONS_TOPIC`.
        """
        if name not in self.topics and name not in self._being_made:
            self._being_made.add(name)
            delay = self.context.settings.offsets_topic_creation
            if delay > 0:
                self.context.agenda.after(delay, partial(self._make_internal, name))
            else:
                self._make_internal(name)
        return self.topics.get(name)

    def coordinator_partition(self, topic: str, key: str) -> Partition | None:
        """Return the partition whose leader coordinates a key, None while its topic is not there.

        Args:
            topic: `OFFSETS_TOPIC` for a group id, `TRANSACTIONS_TOPIC` for a transactional id.
            key: the id (F7).
        """
        known = self.internal_topic(topic)
        if known is None:
            return None
        return known.partitions[group_partition(key, len(known.partitions))]

    def _make_internal(self, name: str) -> None:
        self._being_made.discard(name)
        if not self.usable:
            return  # the next request begins anew
        for partition in self._create_internal(name).partitions:
            self._elections.announce(partition, resigned=False)

    def _create_internal(self, name: str) -> Topic:
        count = self.context.settings.offsets_partitions
        return self.create_topic(name, count, configs={"cleanup.policy": "compact"})

    # -- leaders and brokers ---------------------------------------------------------------------

    def elect(self, tp: TopicPartition, node_id: int | None, *, resigned: bool = True) -> None:
        """Let a certain broker lead a partition, at once.

        Args:
            tp: the partition; one of the offsets topic moves the groups in it.
            node_id: the leader; None = none, until a broker that may lead starts. One that is no
                replica takes the former leader's place among them.
            resigned: the former leader gives it up in good order (F2); otherwise it does as if it
                had died (F1).

        Raises:
            ValueError: no such partition, no such broker, or one that is down.
        """
        partition = self.partition(tp)
        if partition is None:
            raise ValueError(f"there is no partition {tp}")
        if node_id is not None and not self._node(node_id).alive:
            raise ValueError(f"broker {node_id} is down, so it cannot lead {tp}; start it first")
        self._elections.move(partition, node_id, resigned=resigned)

    def kill(self, node_id: int) -> None:
        """End a broker's process without a word; the others learn it `election_delay` later.

        Raises:
            ValueError: there is no such broker.
        """
        self._elections.kill(self._node(node_id))

    def stop(self, node_id: int) -> None:
        """Stop a broker in good order: its partitions are led by others before it ends.

        Raises:
            ValueError: there is no such broker.
        """
        self._elections.stop(self._node(node_id))

    def start(self, node_id: int) -> None:
        """Start a broker that is down: it follows, and leads where no other broker may.

        Raises:
            ValueError: there is no such broker.
        """
        self._elections.start(self._node(node_id))

    def _node(self, node_id: int) -> Node:
        node = self.nodes.get(node_id)
        if node is None:
            raise ValueError(f"there is no broker {node_id}; there are {sorted(self.nodes)}")
        return node
