"""The leaders of partitions when brokers die, stop and come back.

Decides: when the controller notices that a broker is down, and what each partition does then
(`broker_facts.md` F1, F2, F5). Each change of leader, also the loss of one, adds 1 to the epoch,
rings the partition's bell and, for the offsets topic, moves its groups.
Never: lets a replica lead that was not in sync.
"""

from collections.abc import Callable, Mapping
from functools import partial

from kgroup.testing.broker.agenda import Timer
from kgroup.testing.broker.cluster.topics import (
    OFFSETS_TOPIC,
    Node,
    Partition,
    Topic,
    choose_leader,
    without,
)
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.groups.coordinators import Coordinators


class Elections:
    """Elections of one cluster.

    Args:
        context: clock and settings.
        nodes: by id, shared with the cluster.
        topics: by name, shared with the cluster.
        coordinators: hear which broker has which partition of the offsets topic.

    Attributes:
        on_leader_changed: called with a partition after each change of its leader.
        on_node_down: called with a node id when its process ended.
    """

    def __init__(
        self,
        context: Context,
        nodes: Mapping[int, Node],
        topics: Mapping[str, Topic],
        coordinators: Coordinators,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._topics = topics
        self._coordinators = coordinators
        self._noticing: dict[int, Timer] = {}
        self.on_leader_changed: list[Callable[[Partition], None]] = []
        self.on_node_down: list[Callable[[int], None]] = []

    # -- brokers ---------------------------------------------------------------------------------

    def kill(self, node: Node) -> None:
        """End a broker's process; the controller notices later."""
        if not node.alive:
            return
        node.alive = False
        for number, home in enumerate(self._coordinators.homes):
            if home == node.node_id:
                self._coordinators.shards[number].drop()
        self._tell_down(node)
        delay = self._context.settings.election_delay
        if delay > 0:
            act = partial(self._notice, node)
            self._noticing[node.node_id] = self._context.agenda.after(delay, act)
        else:
            self._notice(node)

    def stop(self, node: Node) -> None:
        """Hand a broker's partitions over, then end its process."""
        if not node.alive:
            return
        self._fence(node, resigned=True)
        node.alive = False
        self._tell_down(node)

    def start(self, node: Node) -> None:
        """Start a broker again; if the others had not noticed that it was down, they do now."""
        if node.alive:
            return
        if not node.fenced:
            self._notice(node)
        node.alive, node.fenced = True, False
        for partition in self._partitions():
            if node.node_id in partition.replicas:
                self._rejoin(partition, node.node_id)

    def _notice(self, node: Node) -> None:
        timer = self._noticing.pop(node.node_id, None)
        if timer is not None:
            timer.cancel()
        self._fence(node, resigned=False)

    def _fence(self, node: Node, *, resigned: bool) -> None:
        node.fenced = True
        for partition in self._partitions():
            partition.isr = without(partition.isr, node.node_id)
            if partition.leader == node.node_id:
                heir = choose_leader(partition, self._nodes)
                self._lead(partition, heir, resigned=resigned)

    def _rejoin(self, partition: Partition, node_id: int) -> None:
        if partition.leader is None and node_id in partition.isr:
            self._lead(partition, node_id, resigned=False)
        elif partition.leader is not None and node_id not in partition.isr:
            partition.isr = (*partition.isr, node_id)

    def _tell_down(self, node: Node) -> None:
        for act in self.on_node_down:
            act(node.node_id)

    def _partitions(self) -> list[Partition]:
        return [each for topic in self._topics.values() for each in topic.partitions]

    # -- leaders ---------------------------------------------------------------------------------

    def move(self, partition: Partition, node_id: int | None, *, resigned: bool) -> None:
        """Let a certain broker lead, or none; see `Cluster.elect`."""
        if node_id is not None and node_id not in partition.replicas:
            leaves = partition.replicas[0] if partition.leader is None else partition.leader
            stay = tuple(each for each in partition.replicas if each != leaves)
            partition.replicas = (node_id, *stay)
            partition.isr = tuple(each for each in partition.isr if each != leaves)
        if node_id is not None and node_id not in partition.isr:
            partition.isr = (*partition.isr, node_id)
        self._lead(partition, node_id, resigned=resigned)

    def _lead(self, partition: Partition, node_id: int | None, *, resigned: bool) -> None:
        partition.leader = node_id
        partition.epoch += 1
        self.announce(partition, resigned=resigned)
        if node_id is not None:
            partition.log.begin_epoch(partition.epoch)
        partition.log.bell.ring()

    def announce(self, partition: Partition, *, resigned: bool) -> None:
        """Announce the present leader of a partition.

        Args:
            partition: its leader has changed, or it is new.
            resigned: the former leader gave it up in good order.
        """
        if partition.tp.topic == OFFSETS_TOPIC:
            number = partition.tp.partition
            self._coordinators.take_over(number, partition.leader, resigned=resigned)
        for act in self.on_leader_changed:
            act(partition)
