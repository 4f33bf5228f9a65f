"""Repeats a request until it works, is refused, or the time is up.

Decides: which failures are worth another attempt, and the pause before it.
Never: is used where a second attempt does harm; the attempt itself must be repeatable.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

import anyio

from kgroup.codes import ApiKey
from kgroup.errors import BrokerError, DecodeError, TransportError
from kgroup.machine.backoff import Backoff
from kgroup.net.cluster import Cluster
from kgroup.net.metadata import BrokerInfo, ClusterView, address_fault
from kgroup.net.settings import Endpoint
from kgroup.net.verdict import Verdict, verdict
from kgroup.types import TopicPartition
from kgroup.values import dataclass

R = TypeVar("R")


async def retry(
    cluster: Cluster, attempt: Callable[[], Awaitable[R]], *, timeout: float, what: str
) -> R:
    """Return what an attempt returns.

    Args:
        cluster: refreshes its metadata when a broker was not the right one.
        attempt: one try; raises BrokerError for what a broker answered.
        timeout: seconds for all attempts and pauses.
        what: words for the error.

    Raises:
        BrokerError: refused for good.
        TimeoutError: no attempt worked in time; its cause is the last failure.
        ClosedError, UnsupportedVersionError: as the attempt raised them.
    """
    backoff = Backoff(cluster.settings.retry_backoff, cluster.settings.retry_backoff_max)
    dice = cluster.ports.dice_for(what)
    last: Exception | None = None
    with anyio.move_on_after(timeout):
        while True:
            try:
                return await attempt()
            except BrokerError as error:
                last = _unless_refused(error)
            except (TransportError, DecodeError, TimeoutError) as error:
                last = error
            cluster.invalidate()
            backoff = backoff.failed()
            await anyio.sleep(backoff.pause(dice.uniform(0, 1)))
    because = "" if last is None else f"; last: {last}"
    raise TimeoutError(f"{what}: not done within {timeout:g} s{because}") from last


def _unless_refused(error: BrokerError) -> BrokerError:
    if verdict(ApiKey[error.api], error.code) is Verdict.REFUSED:
        raise error
    return error


# -- leadership ------------------------------------------------------------------------------------
#
# A leader that a broker names in an answer, taken in at once instead of asking for metadata.
#
# Decides: when such a word is believed: only about a partition that is known, only under a newer
# leader epoch than the known one, only when there is an address for the leader.
# Never: takes the place of metadata: replicas stay as they were until the next answer.
# KIPs: 320, 951.


K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Leadership:
    """What a broker says about the leader of a partition.

    Args:
        node_id: the leader.
        leader_epoch: of its leadership.
        broker: its endpoint and rack, None when the broker did not say.
    """

    node_id: int
    leader_epoch: int
    broker: BrokerInfo | None = None


def named_broker(node_id: int, host: str, port: int, rack: str | None) -> BrokerInfo | None:
    """Return a broker as an answer names it; None when there can be none at such an address."""
    if address_fault(host, port) is not None or node_id < 0:
        return None
    return BrokerInfo(Endpoint(node_id, host, port), rack)


def learn_leader(cluster: Cluster, tp: TopicPartition, named: Leadership) -> bool:
    """Take a leader in; tell whether it was news."""
    return cluster.publish(with_leader(cluster.view, tp, named))


def with_leader(view: ClusterView, tp: TopicPartition, named: Leadership) -> ClusterView:
    """Return the view with another leader; the view itself when that is not believed."""
    topic, known = view.topics.get(tp.topic), view.partition(tp)
    if topic is None or known is None or named.node_id < 0:
        return view
    newer = known.leader_epoch is not None and named.leader_epoch > known.leader_epoch
    brokers = view.brokers
    if named.broker is not None:
        brokers = MappingProxyType({**brokers, named.node_id: named.broker})
    if not newer or named.node_id not in brokers:
        return view
    moved = replace(known, leader=named.node_id, leader_epoch=named.leader_epoch, error=0)
    partitions = _with(topic.partitions, tp.partition, moved)
    topics = _with(view.topics, tp.topic, replace(topic, partitions=partitions))
    return replace(view, brokers=brokers, topics=topics)


def _with(values: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    return MappingProxyType({**values, key: value})
