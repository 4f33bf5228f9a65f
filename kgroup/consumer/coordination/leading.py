"""The leader's errand: from the members' subscriptions to the bytes of SyncGroup.

Decides: which metadata the assignment is made from, and whether it may be sent.
Never: keeps an assignment; the next leader starts from what the members claim.
KIPs: 429, 814 (a returning static leader only watches the group's topics), 881 (racks).
"""

import logging
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
from kgroup.consumer.coordination.interest import TopicInterest
from kgroup.consumer.coordination.looking_back import assigned_counts
from kgroup.errors import GroupError, KGroupError
from kgroup.membership.events import AssignorDone, AssignorFailed, RunAssignor
from kgroup.membership.settings import MembershipSettings
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.types import RebalanceProtocol, TopicPartition

__all__ = ["Leading", "partition_counts"]

log = logging.getLogger(__name__)

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
        if effect.unasked:
            return await self._watch(effect)
        protocol = common_protocol(self._settings.assignors)
        joined = _joined(effect)
        members = read_members(joined, protocol)
        wanted = subscribed_topics(members)
        owned = frozenset(tp.topic for member in members for tp in member.owned)
        view = await self._learn(wanted, owned=owned & wanted)
        assignor = self._chosen(effect.protocol_name)
        group = describe_group(joined, _metadata(view, wanted), protocol)
        for member in group.unreadable:
            log.warning(
                "group=%s gives nothing to member=%r instance=%r: %s",
                self._settings.group_id,
                member.member_id,
                member.group_instance_id,
                member.unreadable,
            )
        assignments = await self._compute(assignor, group, protocol)
        return AssignorDone(effect.ticket, tuple(assignments.items()), _watched(view, wanted))

    async def _watch(self, effect: RunAssignor) -> AssignorDone:
        """Find out which topics a leader that came back has to watch, and from which counts on."""
        counts: Mapping[str, int] | None = None
        if effect.node_id is not None:
            try:
                counts = await assigned_counts(
                    self._cluster,
                    effect.node_id,
                    self._settings.group_id,
                    timeout=self._patience(),
                )
            except (KGroupError, TimeoutError) as error:
                log.debug("group=%s cannot look back: %s", self._settings.group_id, error)
        if counts is not None:
            await self._learn(frozenset(counts))
            return AssignorDone(effect.ticket, (), counts)
        if not effect.members:
            raise GroupError("the group's topics cannot be told")
        protocol = common_protocol(self._settings.assignors)
        wanted = subscribed_topics(read_members(_joined(effect), protocol))
        return AssignorDone(effect.ticket, (), _watched(await self._learn(wanted), wanted))

    async def _learn(
        self, wanted: frozenset[str], *, owned: frozenset[str] = frozenset()
    ) -> ClusterView:
        """Return a view with the group's topics, as far as the cluster can say in time.

        A topic that stays unknown is left out now, and begins a round when it appears.

        Args:
            wanted: topics the group subscribes to.
            owned: those of them that members own partitions of.

        Raises:
            TimeoutError: no broker can say anything about one that is owned. Leaving it out would
                take it from its owners because of this leader's ignorance: another round, then.
        """
        self._interest.lead(wanted)
        lacking = wanted - self._cluster.view.topics.keys()
        lacking |= _vague(self._cluster.view, owned)
        with anyio.move_on_after(self._patience()), suppress(TimeoutError):
            while lacking:
                lacking = _vague(await self._cluster.refresh(self._patience()), owned)
        needed = sorted(lacking & owned)
        if needed:
            raise TimeoutError(f"no metadata of {', '.join(needed[:5])}, which members own")
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


def _joined(effect: RunAssignor) -> list[tuple[str, str | None, bytes]]:
    return [
        (each.member_id, each.group_instance_id, bytes(each.metadata)) for each in effect.members
    ]


def _watched(view: ClusterView, wanted: frozenset[str]) -> dict[str, int]:
    """Count partitions; a topic that is not there yet is watched too, as having none."""
    return dict.fromkeys(wanted, 0) | partition_counts(view, wanted)


def _vague(view: ClusterView, topics: frozenset[str]) -> frozenset[str]:
    """Return topics of which the brokers could not say for now which partitions they have."""
    known = topics & view.topics.keys()
    return frozenset(topic for topic in known if view.topics[topic].is_uncertain)


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
