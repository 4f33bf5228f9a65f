"""Topics for tests and demos, by blocking calls: made, and measured from first offset to end.

Decides: that a topic is made when every broker knows a leader of each partition, and that the
leader is asked where a partition begins and ends.
Never: retries a partition without a leader when it measures: a verdict needs all of them.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, ConnectionLostError, NoBrokerError
from kgroup.testing.kafka.ready import Address, Probe, parse_bootstrap, until
from kgroup.types import TopicPartition
from kgroup.wire.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kgroup.wire.schema import Message, Request

R = TypeVar("R", bound=Message)

_START: Final = -2
_END: Final = -1


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int,
    *,
    settings: Mapping[str, str] | None = None,
    timeout: float = 15.0,
) -> None:
    """Make a topic, copied to as many brokers as the cluster's default says.

    Args:
        bootstrap: `host:port`, several separated by commas.
        name: of the topic.
        partitions: how many.
        settings: topic settings, e.g. `{"compression.type": "zstd"}`.
        timeout: seconds until every broker must know all leaders.

    Raises:
        NoBrokerError: no address answers.
        BrokerError: the topic exists, or a setting is wrong.
        TimeoutError: not all brokers know all leaders in time.
    """
    configs = (
        CreatableTopicConfig(name=key, value=value) for key, value in (settings or {}).items()
    )
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=-1, assignments=(),
        configs=tuple(configs),
    )  # fmt: skip
    request = CreateTopicsRequest(topics=(topic,), timeout_ms=int(timeout * 1000))
    deadline = time.monotonic() + timeout
    made = _ask_any(parse_bootstrap(bootstrap), request, timeout).topics[0]
    if made.error_code != ErrorCode.NONE:
        raise BrokerError("CreateTopics", made.error_code, f"{name!r}: {made.error_message or ''}")
    for broker in _metadata(parse_bootstrap(bootstrap), [name], timeout).brokers:
        until(partial(_leaderless, (broker.host, broker.port), name, partitions), deadline)


def read_bounds(
    bootstrap: str, topics: Iterable[str], *, timeout: float = 10.0
) -> dict[TopicPartition, tuple[int, int]]:
    """Return partition -> its first offset and the offset after its last record.

    Args:
        bootstrap: `host:port`, several separated by commas.
        topics: names of topics; all their partitions are asked for.
        timeout: seconds each answer may take.

    Raises:
        NoBrokerError: no address answers.
        BrokerError: a topic is not known, or a partition cannot be asked.
    """
    cluster = _metadata(parse_bootstrap(bootstrap), sorted(set(topics)), timeout)
    bounds: dict[TopicPartition, tuple[int, int]] = {}
    for address, partitions in _by_leader(cluster).items():
        with Probe(address, timeout=timeout) as probe:
            starts = _offsets(probe, partitions, _START)
            ends = _offsets(probe, partitions, _END)
        bounds |= {tp: (starts[tp], ends[tp]) for tp in partitions}
    return dict(sorted(bounds.items()))


def _metadata(addresses: Sequence[Address], topics: list[str], timeout: float) -> MetadataResponse:
    return _ask_any(addresses, _metadata_request(topics), timeout)


def _metadata_request(topics: Sequence[str]) -> MetadataRequest:
    asked = tuple(MetadataRequestTopic(name=name) for name in topics)
    return MetadataRequest(topics=asked, allow_auto_topic_creation=False)


def _ask_any(addresses: Sequence[Address], request: Request[R], timeout: float) -> R:
    """Ask the first broker that answers."""
    tried: dict[str, str] = {}
    for host, port in addresses:
        try:
            with Probe((host, port), timeout=timeout) as probe:
                return probe.ask(request)
        except ConnectionLostError as error:
            tried[f"{host}:{port}"] = error.reason
    raise NoBrokerError(tried, timeout)


def _leaderless(address: Address, name: str, partitions: int) -> str | None:
    """Say which partitions of a topic a broker knows no leader of, None when it knows all."""
    with Probe(address) as probe:
        topic = probe.ask(_metadata_request([name])).topics[0]
    led = sum(partition.leader_id >= 0 for partition in topic.partitions)
    host, port = address
    return None if led == partitions else f"{host}:{port} knows {led} of {partitions} leaders"


def _by_leader(cluster: MetadataResponse) -> Mapping[Address, list[TopicPartition]]:
    address_of = {broker.node_id: (broker.host, broker.port) for broker in cluster.brokers}
    found: defaultdict[Address, list[TopicPartition]] = defaultdict(list)
    for topic in cluster.topics:
        name = topic.name or ""
        if topic.error_code != ErrorCode.NONE:
            raise BrokerError("Metadata", topic.error_code, f"topic {name!r}")
        for partition in topic.partitions:
            tp = TopicPartition(name, partition.partition_index)
            if partition.leader_id not in address_of:
                raise BrokerError("Metadata", ErrorCode.LEADER_NOT_AVAILABLE, str(tp))
            found[address_of[partition.leader_id]].append(tp)
    return found


def _offsets(
    probe: Probe, partitions: Sequence[TopicPartition], which: int
) -> dict[TopicPartition, int]:
    questions: defaultdict[str, list[ListOffsetsPartition]] = defaultdict(list)
    for tp in partitions:
        question = ListOffsetsPartition(partition_index=tp.partition, timestamp=which)
        questions[tp.topic].append(question)
    topics = (ListOffsetsTopic(name=name, partitions=tuple(q)) for name, q in questions.items())
    answer = probe.ask(ListOffsetsRequest(replica_id=-1, topics=tuple(topics)))
    found = {}
    for topic in answer.topics:
        for row in topic.partitions:
            tp = TopicPartition(topic.name, row.partition_index)
            if row.error_code != ErrorCode.NONE:
                raise BrokerError("ListOffsets", row.error_code, str(tp))
            found[tp] = row.offset
    return found
