"""The leader's errand: from the members' subscriptions to the bytes of SyncGroup.

Decides: which metadata the assignment is made from, and whether it may be sent.
Never: keeps an assignment; the next leader starts from what the members claim.
KIPs: 429, 814 (a returning static leader only watches the group's topics), 881 (racks).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import anyio
import anyio.to_thread

from kgroup.assignors import (
    Assignor,
    GroupSubscription,
    PartitionRacks,
    TopicsMetadata,
    common_protocol,
    describe_group,
    encode_group_assignment,
    read_members,
    subscribed_topics,
    verify,
)
from kgroup.consumer.interest import TopicInterest
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["Leading", "partition_counts"]

_THREAD_FROM = 20_000
"""Members x partitions above which the assignor leaves the loop, so that heartbeats go on."""


class Leading:
    """Runs assignors for one member.

    Args:
        cluster: for the metadata of all the group's topics.
        interest: told which topics the group has.
        settings: of the member.
    """

    def __init__(
        self, cluster: Cluster, interest: TopicInterest, settings: MembershipSettings
    ) -> None:
        self._cluster = cluster
        self._interest = interest
        self._settings = settings

    async def run(self, effect: RunAssignor) -> AssignorDone | AssignorFailed:
        """Compute the assignment, bounded by the rebalance timeout; never raises an `Exception`."""
        try:
            with anyio.fail_after(self._settings.rebalance_timeout):
                return await self._run(effect)
        except Exception as error:  # noqa: BLE001 - an assignor is foreign code: the round fails
            return AssignorFailed(effect.ticket, error)

    async def _run(self, effect: RunAssignor) -> AssignorDone:
        protocol = common_protocol(self._settings.assignors)
        joined = [
            (each.member_id, each.group_instance_id, bytes(each.metadata))
            for each in effect.members
        ]
        wanted = subscribed_topics(read_members(joined, protocol))
        view = await self._learn(wanted)
        # A topic that is not there yet is watched too: it counts as having no partitions.
        watched = dict.fromkeys(wanted, 0) | partition_counts(view, wanted)
        if effect.unasked:
            return AssignorDone(effect.ticket, (), watched)
        assignor = self._chosen(effect.protocol_name)
        group = describe_group(joined, _metadata(view, wanted), protocol)
        assignments = await self._compute(assignor, group, protocol)
        return AssignorDone(effect.ticket, tuple(assignments.items()), watched)

    async def _learn(self, wanted: frozenset[str]) -> ClusterView:
        """Return a view with the group's topics, as far as the cluster can say in time.

        A topic that stays unknown is left out now, and begins a round when it appears.
        """
        self._interest.lead(wanted)
        if wanted <= self._cluster.view.topics.keys():
            return self._cluster.view
        with suppress(TimeoutError):
            await self._cluster.refresh(self._patience())
        return self._cluster.view

    def _patience(self) -> float:
        """Wait for metadata in a part of the time the round has."""
        return min(self._settings.request_timeout, self._settings.rebalance_timeout / 4)

    async def _compute(
        self, assignor: Assignor, group: GroupSubscription, protocol: RebalanceProtocol
    ) -> Mapping[str, bytes]:
        def compute() -> Mapping[str, bytes]:
            assignment = assignor.assign(group)
            verify(group, assignment, assignor=assignor.name, protocol=protocol)
            return encode_group_assignment(group, assignment)

        if len(group.members) * len(group.partitions) < _THREAD_FROM:
            return compute()
        return await anyio.to_thread.run_sync(compute, abandon_on_cancel=True)

    def _chosen(self, name: str) -> Assignor:
        return next(each for each in self._settings.assignors if each.name == name)


def partition_counts(view: ClusterView, topics: Iterable[str]) -> dict[str, int]:
    """Return topic -> partition count; topics without metadata are left out."""
    return {topic: len(view.topics[topic].partitions) for topic in topics if topic in view.topics}


def _metadata(view: ClusterView, topics: frozenset[str]) -> TopicsMetadata:
    """Describe the topics to the assignor; a topic without metadata is left out."""
    return {
        topic: {
            number: PartitionRacks(
                leader=_rack(view, partition.leader),
                replicas=view.replica_racks(TopicPartition(topic, number)),
            )
            for number, partition in view.topics[topic].partitions.items()
        }
        for topic in topics
        if topic in view.topics
    }


def _rack(view: ClusterView, node_id: int | None) -> str | None:
    broker = None if node_id is None else view.brokers.get(node_id)
    return None if broker is None else broker.rack
