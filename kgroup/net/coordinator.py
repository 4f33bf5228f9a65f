"""Where a group's coordinator is: the question, and how its answer reads.

Decides: nothing about groups; the membership machine drives discovery. For clients outside the
group: that a coordinator which moved is found anew.
Never: trusts an address that cannot be one. A named node may be dead all the same: brokers go on
naming a killed coordinator for seconds.
KIP-699 (FindCoordinator in batches).
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import DecodeError
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.metadata import address_fault
from kgroup.net.retrying import retry
from kgroup.net.settings import Endpoint
from kgroup.net.verdict import refusal
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)
from kgroup.wire.schema import Message, Request

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Message)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The broker that coordinates a group; give it to `Cluster.learn_node`."""

    node_id: int
    host: str
    port: int


def find_coordinator_request(group_id: str) -> FindCoordinatorRequest:
    """Return the question for one group; `Cluster.send_any` takes it."""
    return FindCoordinatorRequest(coordinator_keys=(group_id,))


def coordinator_of(answer: FindCoordinatorResponse, group_id: str) -> Coordinator:
    """Read the answer for one group, in either layout.

    Raises:
        BrokerError: no coordinator; the code says why (UnauthorizedError when not permitted).
        DecodeError: the answer is about other groups, or names an impossible address.
    """
    if answer.coordinators:
        rows = [row for row in answer.coordinators if row.key == group_id]
        if len(rows) != 1:
            raise DecodeError("FindCoordinator answer", f"{len(rows)} rows for group {group_id!r}")
        row = rows[0]
        code, message = row.error_code, row.error_message
        found = Coordinator(row.node_id, row.host, row.port)
    else:
        code, message = answer.error_code, answer.error_message
        found = Coordinator(answer.node_id, answer.host, answer.port)
    if code:
        raise refusal(ApiKey.FIND_COORDINATOR, code, (group_id,), message)
    fault = address_fault(found.host, found.port)
    if fault is not None or found.node_id < 0:
        raise DecodeError("FindCoordinator answer", fault or f"node {found.node_id}")
    address = Endpoint(found.node_id, found.host, found.port).address
    log.debug("group=%s coordinator found node=%d address=%s", group_id, found.node_id, address)
    return found


async def find_coordinator(cluster: Cluster, group_id: str, *, timeout: float) -> Coordinator:
    """Ask once where a group's coordinator is; the cluster can send to it afterwards.

    Raises:
        BrokerError, DecodeError: see `coordinator_of`.
        NoBrokerError, ConnectionLostError, TimeoutError: see `Cluster.send_any`.
    """
    answer = await cluster.send_any(find_coordinator_request(group_id), timeout=timeout)
    found = coordinator_of(answer, group_id)
    cluster.learn_node(found.node_id, found.host, found.port)
    return found


async def with_coordinator(
    cluster: Cluster, group_id: str, attempt: Callable[[int], Awaitable[T]], *, timeout: float
) -> T:
    """Return what an attempt at a group's coordinator returns; found anew before each.

    Args:
        cluster: running.
        group_id: name of the group.
        attempt: takes the node id; repeatable, raises BrokerError for what was answered.
        timeout: seconds for all attempts.

    Raises:
        BrokerError, TimeoutError, ClosedError, UnsupportedVersionError: see `retry`.
    """

    async def find_and_ask() -> T:
        patience = cluster.settings.request_timeout
        found = await find_coordinator(cluster, group_id, timeout=patience)
        return await attempt(found.node_id)

    return await retry(cluster, find_and_ask, timeout=timeout, what=f"group {group_id!r}")


async def ask_node(cluster: Cluster, node_id: int, request: Request[R]) -> R:
    """Ask one broker on behalf of nobody's membership; raises as `Cluster.send`."""
    timeout = cluster.settings.request_timeout
    return await cluster.send(node_id, request, lane=Lane.CONTROL, timeout=timeout)


# -- offset answers --------------------------------------------------------------------------------
#
# What an OffsetFetch answer says about one group, partition by partition.
#
# Decides: what counts as an answer about a partition: exactly one row, in exactly one part about
# the group (N13). A negative offset is "nothing committed": brokers accept such commits.
# Never: decides what an error code means; takes silence for "nothing committed".
# KIPs: 320 (leader epochs), 709 (several groups in one answer).


@dataclass(frozen=True, slots=True)
class FetchedOffset:
    """What a coordinator said about one partition.

    Args:
        code: error code, 0 without one.
        committed: the offset; None when nothing is committed, or an error instead.
    """

    code: int
    committed: OffsetAndMetadata | None


@dataclass(frozen=True, slots=True)
class FetchedOffsets:
    """What a coordinator said about a group.

    Args:
        code: error code of the group, 0 without one; then there are no partitions.
        partitions: those it named exactly once.
    """

    code: int
    partitions: dict[TopicPartition, FetchedOffset] = field(default_factory=dict)


def read_offset_fetch(answer: OffsetFetchResponse, group_id: str) -> FetchedOffsets:
    """Read an answer.

    Raises:
        DecodeError: it has not exactly one part about the group.
    """
    groups = [each for each in answer.groups if each.group_id == group_id]
    if len(groups) != 1:
        reason = f"{len(groups)} parts about group {group_id!r}"
        raise DecodeError("OffsetFetch answer", reason)
    if groups[0].error_code:
        return FetchedOffsets(groups[0].error_code)
    rows = [
        (TopicPartition(topic.name, row.partition_index), row)
        for topic in groups[0].topics
        for row in topic.partitions
    ]
    times = Counter(tp for tp, _ in rows)
    return FetchedOffsets(ErrorCode.NONE, {tp: _read(row) for tp, row in rows if times[tp] == 1})


def _read(row: OffsetFetchResponsePartitions) -> FetchedOffset:
    if row.error_code or row.committed_offset < 0:
        return FetchedOffset(row.error_code, None)
    epoch = None if row.committed_leader_epoch < 0 else row.committed_leader_epoch
    return FetchedOffset(
        ErrorCode.NONE, OffsetAndMetadata(row.committed_offset, row.metadata or "", epoch)
    )
