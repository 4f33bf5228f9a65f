"""A live group as the beginning of a simulation.

Decides: which groups can be simulated, and that one in the middle of a rebalance is waited for:
a coordinator tells subscriptions, with their user data, only of a group that is Stable, and only
those for the assignor in use.
Never: joins the group or changes anything: it asks for a description and for metadata.
KIPs: 881 (racks of members and replicas).
"""

from dataclasses import replace
from typing import Final

import anyio

from kgroup.assignors import BUILT_IN
from kgroup.assignors.simulator import Scenario, SimulatedMember, SimulatedTopic
from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, IllegalStateError
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.group_description import (
    GroupDescription,
    GroupMember,
    GroupType,
    describe_known_group,
)
from kgroup.net.metadata import TopicInfo
from kgroup.net.retrying import retry
from kgroup.net.verdict import refusal
from kgroup.types import TopicPartition

_LOOK_AGAIN: Final = 0.25
_REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance"})


async def describe_live(cluster: Cluster, group_id: str, *, timeout: float) -> Scenario:
    """Return a group as it is now, without events.

    Args:
        cluster: running.
        group_id: name of the group.
        timeout: seconds that each question, and a rebalance of the group, may take.

    Raises:
        BrokerError: there is no such group; or refused (UnauthorizedError), the group or a topic.
        IllegalStateError: nothing can be simulated of it; the message says why, and what to do.
        TimeoutError: no answer in time.
    """
    group = await _settled(cluster, group_id, timeout)
    members = tuple(_member(group, member) for member in group.members or ())
    wanted = frozenset().union(*(member.topics for member in members))
    now = cluster.ports.wall()
    topics = await _topics(cluster, wanted, timeout)
    known = tuple(_with_known(member, topics) for member in members)
    return Scenario(topics, known, (), now, group.assignor)


async def _settled(cluster: Cluster, group_id: str, timeout: float) -> GroupDescription:
    clock = cluster.ports.clock
    deadline = clock() + timeout
    while True:
        group = await describe_known_group(cluster, group_id, timeout=timeout)
        _check_kind(group)
        if group.state not in _REBALANCING:
            break
        if clock() >= deadline:
            raise IllegalStateError(
                f"group {group_id!r} has been {group.state} for {timeout:g} s; subscriptions are "
                "told only of a Stable group: wait longer with --timeout, or try again later"
            )
        await anyio.sleep(_LOOK_AGAIN)
    if not group.members:
        raise IllegalStateError(
            f"group {group_id!r} is {group.state} and has no members; describe a group in a file "
            "instead: --group FILE"
        )
    return group


def _check_kind(group: GroupDescription) -> None:
    if group.group_type is not GroupType.CLASSIC:
        raise IllegalStateError(
            f"group {group.group_id!r} speaks the {group.group_type.value} protocol (KIP-848): its "
            "coordinator assigns, no assignor of a member does, so there is nothing to compare"
        )
    if group.protocol_type not in {None, "consumer"}:
        raise IllegalStateError(
            f"group {group.group_id!r} is of protocol type {group.protocol_type!r}, not "
            "'consumer': its members' subscriptions mean something else"
        )


def _member(group: GroupDescription, member: GroupMember) -> SimulatedMember:
    said = member.subscription
    if member.topics is None or said is None:
        raise IllegalStateError(
            f"member {member.member_id!r} of group {group.group_id!r} sent a subscription that "
            "cannot be read; describe the group in a file instead: --group FILE"
        )
    return SimulatedMember(
        member_id=member.member_id,
        topics=frozenset(member.topics),
        group_instance_id=member.group_instance_id,
        rack=member.rack,
        owned=member.partitions or (),
        # A built-in assignor encodes what is owned, and that has changed since it was sent.
        user_data=None if group.assignor in BUILT_IN else said.user_data or b"",
        assigned_user_data=member.user_data,
    )


def _with_known(member: SimulatedMember, topics: dict[str, SimulatedTopic]) -> SimulatedMember:
    """Return a member that owns only what exists: a topic may have been deleted, or made anew."""
    owned = tuple(
        tp
        for tp in member.owned
        if tp.topic in member.topics and tp.partition < topics[tp.topic].partitions
    )
    return replace(member, owned=owned)


async def _topics(
    cluster: Cluster, names: frozenset[str], timeout: float
) -> dict[str, SimulatedTopic]:
    """Return the topics as they are; one that is not there has no partitions."""

    async def attempt() -> ClusterView:
        return await cluster.look_up(names, timeout=cluster.settings.request_timeout)

    view = await retry(cluster, attempt, timeout=timeout, what="look up the group's topics")
    for name, topic in sorted(view.topics.items()):
        if topic.error not in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
            raise refusal(ApiKey.METADATA, topic.error, (name,))
    return {name: _topic(view, name, view.topics.get(name)) for name in sorted(names)}


def _topic(view: ClusterView, name: str, topic: TopicInfo | None) -> SimulatedTopic:
    numbers = () if topic is None else tuple(sorted(topic.partitions))
    if numbers != tuple(range(len(numbers))):
        text = f"{name} is described with partitions missing; try again"
        raise BrokerError(ApiKey.METADATA.name, ErrorCode.LEADER_NOT_AVAILABLE, text)
    racks = tuple(_racks(view, TopicPartition(name, number)) for number in numbers)
    known = any(rack is not None for each in racks for rack in each)
    return SimulatedTopic(len(numbers), racks if known else ())


def _racks(view: ClusterView, tp: TopicPartition) -> tuple[str | None, ...]:
    partition = view.partition(tp)
    if partition is None:
        return ()
    leader = () if partition.leader is None else (partition.leader,)
    nodes = (*leader, *(node for node in partition.replicas if node not in leader))
    return tuple(view.brokers[node].rack if node in view.brokers else None for node in nodes)
