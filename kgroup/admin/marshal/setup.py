"""Making the coordination topic, or looking at the one that is there.

Decides: the settings of a new one.
Never: changes one that is there: some settings can be changed by hand, the number of partitions
never while a member runs.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from kgroup.backends.marshal.topic_check import TopicCheck, check_topic
from kgroup.codes import ApiKey
from kgroup.net.admin import NewTopic, create_topics
from kgroup.net.cluster import Cluster
from kgroup.net.insist import insist
from kgroup.net.verdict import refusal

__all__ = ["SetUp", "new_topic", "set_up"]

_REPLICAS: Final = 3
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_SEGMENT: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SetUp:
    """What was done, or would be.

    Args:
        topic: as it was made, or would be made if it were not there.
        made: whether it was made now.
        check: what the one that is there is like; None when there is none.
    """

    topic: NewTopic
    made: bool
    check: TopicCheck | None = field(default=None)


def new_topic(name: str, partitions: int, brokers: int) -> NewTopic:
    """Return what a new coordination topic is like.

    Args:
        name: of the topic.
        partitions: how many; topics are spread over them, and the number cannot be changed later
            without stopping all members.
        brokers: how many there are; a topic of fewer than three brokers is less safe than it
            should be.
    """
    replicas = max(min(_REPLICAS, brokers), 1)
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "uncompressed",
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": str(max(replicas - 1, 1)),
        "retention.ms": str(_DAY_MS),
        "segment.bytes": str(_SEGMENT),
        "segment.ms": str(_HOUR_MS),
        "unclean.leader.election.enable": "false",
    }
    return NewTopic(name, partitions, replicas, configs)


async def set_up(
    cluster: Cluster, name: str, partitions: int, *, dry_run: bool = False, timeout: float
) -> SetUp:
    """Make the coordination topic unless it is there, and look at it.

    Args:
        cluster: running.
        name: of the topic.
        partitions: how many a new one has.
        dry_run: whether nothing is made.
        timeout: seconds for each question.

    Raises:
        CoordinationTopicError: the one that is there is compacted.
        BrokerError: it may not be made, or not be seen.
        TimeoutError: not made, or not seen, in time.
    """
    topic = new_topic(name, partitions, len(cluster.view.brokers))
    attempt = partial(_is_there, cluster, name)
    there = await insist(cluster, attempt, timeout=timeout, what=f"look for topic {name}")
    made = False
    if not there and dry_run:
        return SetUp(topic, made=False)
    if not there:
        made = name in await create_topics(cluster, [topic], timeout=timeout)
    return SetUp(topic, made, await check_topic(cluster, name, timeout=timeout))


async def _is_there(cluster: Cluster, name: str) -> bool:
    view = await cluster.look_up(frozenset({name}), timeout=cluster.settings.request_timeout)
    found = view.topics.get(name)
    if found is not None and found.error and not found.is_gone:
        raise refusal(ApiKey.METADATA, found.error, (name,))
    return found is not None and not found.is_gone
