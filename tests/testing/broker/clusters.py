"""What the tests of the cluster ask for again and again."""

from collections.abc import Iterable

from kgroup.testing.broker.cluster.cluster import Partition
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from tests.testing.broker.driver import Raw

NO_ID = bytes(16)


def named(raw: Raw, *names: str, create: bool = False, version: int = 13) -> MetadataResponse:
    """Ask for topics by name."""
    rows = tuple(MetadataRequestTopic(name=name) for name in names)
    request = MetadataRequest(topics=rows, allow_auto_topic_creation=create)
    return raw.ask(node_up(raw), request, version=version).now


def by_id(raw: Raw, topic_id: bytes) -> MetadataResponseTopic:
    """Ask for one topic by id."""
    request = MetadataRequest(topics=(MetadataRequestTopic(topic_id=topic_id, name=None),))
    return raw.ask(node_up(raw), request, version=12).now.topics[0]


def all_topics(raw: Raw, version: int = 13) -> dict[str, MetadataResponseTopic]:
    """Ask for all topics, by name."""
    answer = raw.ask(node_up(raw), MetadataRequest(topics=None), version=version).now
    return {row.name or "": row for row in answer.topics}


def partition(raw: Raw, topic: str, number: int = 0) -> Partition:
    """Return a partition that exists."""
    found = raw.core.cluster.partition(TopicPartition(topic, number))
    assert found is not None
    return found


def coordinator(raw: Raw, key: str, key_type: int = 0) -> tuple[int, int]:
    """Ask which node coordinates; returns error and node id."""
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    answer = raw.ask(node_up(raw), request, version=3).now
    return answer.error_code, answer.node_id


def node_up(raw: Raw) -> int:
    """Return a broker that answers."""
    return next(node.node_id for node in raw.core.cluster.nodes.values() if node.alive)


def wanted(
    name: str,
    partitions: int = -1,
    replication: int = -1,
    *,
    by_hand: Iterable[tuple[int, tuple[int, ...]]] = (),
    **configs: str | None,
) -> CreatableTopic:
    """Describe a topic that shall be made; underscores of settings stand for dots."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=nodes)
            for number, nodes in by_hand
        ),
        configs=tuple(
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ),
    )


def create(
    raw: Raw, *topics: CreatableTopic, validate_only: bool = False
) -> list[CreatableTopicResult]:
    """Ask for topics to be made."""
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    return list(raw.ask(1, request).now.topics)
