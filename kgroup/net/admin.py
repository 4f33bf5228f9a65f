"""What is asked of a cluster beside consuming: topics and groups.

Decides: which broker to ask, when to ask again, and when a change can be seen.
Never: belongs to a member: these calls carry no generation and use no member's connections.
KIPs: 4 (topics), 195 (partitions), 229 (delete groups), 345 (evict a static member).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from typing import Final, TypeVar

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError
from kgroup.net.cluster import Cluster, ClusterView, Lane
from kgroup.net.metadata import TopicInfo
from kgroup.net.retrying import retry
from kgroup.net.verdict import refusal
from kgroup.values import dataclass
from kgroup.wire.messages import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from kgroup.wire.schema import Message, Request
from kgroup.wire.vocabulary import ZERO_UUID

R = TypeVar("R", bound=Message)

_BROKERS_CHOICE: Final = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be made.

    Args:
        name: its name.
        partitions: how many; None leaves it to the broker (KIP-464).
        replication_factor: how many replicas of each; None leaves it to the broker.
        configs: settings of the topic, as in Kafka's documentation.
    """

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


async def create_topics(
    cluster: Cluster, topics: Sequence[NewTopic], *, timeout: float
) -> frozenset[str]:
    """Make topics, and wait until all their partitions have leaders.

    Returns:
        Names of those that were made; the others were there before, as they are.

    Raises:
        BrokerError: one of them was refused; others may have been made.
        TimeoutError: not made, or not seen, in time.
    """
    made: set[str] = set()
    attempt = partial(_create_once, cluster, topics, made)
    names = frozenset(topic.name for topic in topics)
    what = f"create {', '.join(sorted(names))}"
    started = cluster.ports.clock()
    await retry(cluster, attempt, timeout=timeout, what=what)
    left = timeout - (cluster.ports.clock() - started)
    await retry(cluster, partial(_all_led, cluster, names), timeout=left, what=what)
    return frozenset(made)


async def _create_once(cluster: Cluster, topics: Sequence[NewTopic], made: set[str]) -> None:
    wanted = [topic for topic in topics if topic.name not in made]
    rows = tuple(_described(topic) for topic in wanted)
    answer = await _ask_controller(
        cluster, CreateTopicsRequest(topics=rows, timeout_ms=_patience(cluster))
    )
    refused: BrokerError | None = None
    for row in answer.topics:
        if row.error_code == ErrorCode.NONE:
            made.add(row.name)
        elif row.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            refused = refusal(ApiKey.CREATE_TOPICS, row.error_code, (row.name,), row.error_message)
    if refused is not None:
        raise refused


def _described(topic: NewTopic) -> CreatableTopic:
    count, factor = topic.partitions, topic.replication_factor
    return CreatableTopic(
        name=topic.name,
        num_partitions=_BROKERS_CHOICE if count is None else count,
        replication_factor=_BROKERS_CHOICE if factor is None else factor,
        assignments=(),
        configs=tuple(
            CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()
        ),
    )


async def create_partitions(cluster: Cluster, topic: str, total: int, *, timeout: float) -> None:
    """Make a topic wider, and wait until all its partitions have leaders.

    Args:
        cluster: running.
        topic: its name.
        total: partitions it shall have in all.
        timeout: seconds.

    Raises:
        BrokerError: refused; INVALID_PARTITIONS when it has more already.
        TimeoutError: not made, or not seen, in time.
    """
    row = CreatePartitionsTopic(name=topic, count=total, assignments=None)
    request = CreatePartitionsRequest(
        topics=(row,), timeout_ms=_patience(cluster), validate_only=False
    )
    started = cluster.ports.clock()
    what = f"widen {topic} to {total} partitions"

    async def attempt() -> None:
        answer = await _ask_controller(cluster, request)
        for result in answer.results:
            if result.error_code == ErrorCode.INVALID_PARTITIONS and await _is_wide(
                cluster, topic, total
            ):
                continue  # an earlier attempt was carried out, only its answer was lost
            if result.error_code:
                raise refusal(
                    ApiKey.CREATE_PARTITIONS, result.error_code, (topic,), result.error_message
                )

    async def seen() -> None:
        if not await _is_wide(cluster, topic, total):
            raise refusal(ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE, (topic,))
        await _all_led(cluster, frozenset({topic}))

    await retry(cluster, attempt, timeout=timeout, what=what)
    left = timeout - (cluster.ports.clock() - started)
    await retry(cluster, seen, timeout=left, what=what)


async def _is_wide(cluster: Cluster, topic: str, total: int) -> bool:
    view = await _look_up(cluster, frozenset({topic}))
    return len(view.partitions_of(topic)) == total


async def delete_topics(cluster: Cluster, names: Sequence[str], *, timeout: float) -> None:
    """Delete topics, and wait until a broker no longer knows them.

    Raises:
        BrokerError: one of them was refused; UNKNOWN_TOPIC_OR_PARTITION is not an error.
        TimeoutError: not gone in time.
    """
    rows = tuple(DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names)
    request = DeleteTopicsRequest(topics=rows, timeout_ms=_patience(cluster))
    started = cluster.ports.clock()
    what = f"delete {', '.join(names)}"

    async def attempt() -> None:
        answer = await _ask_controller(cluster, request)
        for row in answer.responses:
            if row.error_code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                name = row.name or ", ".join(names)
                raise refusal(ApiKey.DELETE_TOPICS, row.error_code, (name,), row.error_message)

    async def gone() -> None:
        view = await _look_up(cluster, frozenset(names))
        left = [name for name in names if view.topics[name].partitions]
        if left:
            raise refusal(ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE, left, "still there")

    await retry(cluster, attempt, timeout=timeout, what=what)
    left = timeout - (cluster.ports.clock() - started)
    await retry(cluster, gone, timeout=left, what=what)


# -- what there is -------------------------------------------------------------------------------


async def describe_topics(
    cluster: Cluster, names: Collection[str] | None = None, *, timeout: float
) -> Mapping[str, TopicInfo]:
    """Return topics by name, in the order of their names.

    Args:
        cluster: running.
        names: which; None for all that may be seen, internal ones too.
        timeout: seconds.

    Raises:
        BrokerError: UNKNOWN_TOPIC_OR_PARTITION names the first that is missing and the one most
            like it; or refused (UnauthorizedError).
        TimeoutError: no answer in time.
    """
    asked = None if names is None else frozenset(names)

    async def attempt() -> ClusterView:
        return await cluster.look_up(asked, timeout=cluster.settings.request_timeout)

    view = await retry(cluster, attempt, timeout=timeout, what="describe topics")
    for name, topic in sorted(view.topics.items()):
        if topic.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            await _refuse_unknown(cluster, name, timeout)
        if topic.error and asked is not None:
            raise refusal(ApiKey.METADATA, topic.error, (name,))
    return {name: topic for name, topic in sorted(view.topics.items()) if not topic.error}


async def _refuse_unknown(cluster: Cluster, name: str, timeout: float) -> None:
    known = await describe_topics(cluster, timeout=timeout)
    text = f"there is no topic {name!r}{nearest_name(name, known)}"
    raise BrokerError(ApiKey.METADATA.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return words that propose the known name most like one, "" when none is."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


# -- which broker to ask -------------------------------------------------------------------------


async def _ask_controller(cluster: Cluster, request: Request[R]) -> R:
    """Ask the controller; a broker that is not it says so, and the next attempt knows better."""
    timeout = cluster.settings.request_timeout
    controller = cluster.view.controller
    if controller is None or controller not in cluster.view.brokers:
        return await cluster.send_any(request, timeout=timeout)
    return await cluster.send(controller, request, lane=Lane.CONTROL, timeout=timeout)


async def _all_led(cluster: Cluster, names: frozenset[str]) -> None:
    view = await _look_up(cluster, names)
    for name in names:
        topic = view.topics.get(name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
        if topic is not None and not code:
            led = [view.leader(tp) is not None for tp in view.partitions_of(name)]
            code = 0 if led and all(led) else ErrorCode.LEADER_NOT_AVAILABLE
        if code:
            raise refusal(ApiKey.METADATA, code, (name,))


async def _look_up(cluster: Cluster, names: frozenset[str]) -> ClusterView:
    return await cluster.look_up(names, timeout=cluster.settings.request_timeout)


def _patience(cluster: Cluster) -> int:
    """Return the milliseconds a broker may take: less than the client's own patience."""
    return int(cluster.settings.request_timeout * 1000 * 2 / 3)
