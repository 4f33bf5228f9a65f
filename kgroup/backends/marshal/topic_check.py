"""Whether the coordination topic is fit for its purpose.

Decides: which settings are refused, which are warned of, and in which words.
Never: changes a setting; refuses what it may not look at: a client that may write claims need not
be allowed to describe topics.

Refused: a topic that is not there, and compaction: it takes records without a key for invalid, and
would remove the claims of all but one. Warned of: what loses claims, or shortens what a late
reader can know.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kgroup.codes import ApiKey, ErrorCode
from kgroup.errors import BrokerError, CoordinationTopicError, UnsupportedVersionError
from kgroup.net.cluster import Cluster
from kgroup.net.metadata import TopicInfo
from kgroup.net.retrying import retry
from kgroup.net.verdict import refusal
from kgroup.values import dataclass
from kgroup.wire.messages import DescribeConfigsRequest, DescribeConfigsResource

_TOPIC: Final = 2
"""What DescribeConfigs calls a topic."""

_TIMES: Final = 3

_HOUR_MS: Final = 3_600_000
_REPLICAS: Final = 3
_IN_SYNC: Final = 2

_PLAIN: Final = ("uncompressed", "producer")


class Concern(Enum):
    """What may be wrong with a coordination topic."""

    RETENTION = "retention"
    TIMESTAMPS = "timestamps"
    COMPRESSION = "compression"
    REPLICAS = "replicas"
    IN_SYNC = "in-sync replicas"
    UNCLEAN = "unclean elections"
    UNSEEN = "settings not seen"


@dataclass(frozen=True, slots=True)
class TopicWarning:
    """One thing that a person should change.

    Args:
        concern: what it is about.
        text: what is so, what comes of it, and what it should be.
    """

    concern: Concern
    text: str


@dataclass(frozen=True, slots=True)
class TopicCheck:
    """What was found.

    Args:
        partitions: how many the topic has.
        append_time: whether its timestamps are the broker's; None when that could not be seen.
        warnings: in the order of `Concern`; empty when all is well.
    """

    partitions: int
    append_time: bool | None
    warnings: tuple[TopicWarning, ...] = ()


async def check_topic(cluster: Cluster, topic: str, *, timeout: float) -> TopicCheck:
    """Look at the coordination topic.

    Args:
        cluster: running.
        topic: its name.
        timeout: seconds for all questions.

    Raises:
        CoordinationTopicError: it is not there, or is compacted.
        UnauthorizedError, BrokerError: it may not be seen at all.
        TimeoutError: nobody could tell in time.
    """
    started = cluster.ports.clock()
    info = await _describe(cluster, topic, timeout)
    left = max(timeout - (cluster.ports.clock() - started), 0)
    try:
        configs = await _configs(cluster, topic, left)
    except (BrokerError, UnsupportedVersionError) as error:
        text = f"the settings of {topic!r} could not be looked at: {error}"
        return TopicCheck(len(info.partitions), None, (TopicWarning(Concern.UNSEEN, text),))
    return judge_topic(topic, info, configs)


def judge_topic(topic: str, info: TopicInfo, configs: Mapping[str, str]) -> TopicCheck:
    """Judge what was found.

    Args:
        topic: its name.
        info: its partitions and their replicas.
        configs: its settings by Kafka's names; those that are left out are not judged.

    Raises:
        CoordinationTopicError: it is compacted.
    """
    if "compact" in configs.get("cleanup.policy", ""):
        reason = (
            f"cleanup.policy is {configs['cleanup.policy']!r}; compaction refuses records without "
            "a key, as all claims are: set it to 'delete'"
        )
        raise CoordinationTopicError(topic, reason)
    kind = configs.get("message.timestamp.type")
    append_time = None if kind is None else kind == "LogAppendTime"
    found = {
        Concern.RETENTION: _retention(configs.get("retention.ms")),
        Concern.TIMESTAMPS: _timestamps(kind),
        Concern.COMPRESSION: _compression(configs.get("compression.type")),
        Concern.REPLICAS: _replicas(info),
        Concern.IN_SYNC: _in_sync(configs.get("min.insync.replicas")),
        Concern.UNCLEAN: _unclean(configs.get("unclean.leader.election.enable")),
    }
    warnings = (
        TopicWarning(concern, f"coordination topic {topic!r}: {text}")
        for concern, text in found.items()
        if text is not None
    )
    return TopicCheck(len(info.partitions), append_time, tuple(warnings))


# -- one setting each ----------------------------------------------------------------------------


def _retention(value: str | None) -> str | None:
    number = _number(value)
    if number is None or number < 0 or number >= _HOUR_MS:
        return None
    return (
        f"retention.ms is {number}, less than an hour; a reader that is away for a while loses all "
        "claims, and positions are forgotten: set it to a day"
    )


def _timestamps(value: str | None) -> str | None:
    if value in (None, "LogAppendTime"):
        return None
    return (
        f"message.timestamp.type is {value}; leases depend on the clocks of all members: set it "
        "to LogAppendTime"
    )


def _compression(value: str | None) -> str | None:
    if value is None or value in _PLAIN:
        return None
    return (
        f"compression.type is {value}; members of the original library read neither lz4 nor zstd, "
        "and brokers write each small message anew: set it to uncompressed"
    )


def _replicas(info: TopicInfo) -> str | None:
    fewest = min((len(each.replicas) for each in info.partitions.values()), default=0)
    if fewest >= _REPLICAS:
        return None
    return f"a partition has {fewest} replica(s); losing it loses all claims: give it {_REPLICAS}"


def _in_sync(value: str | None) -> str | None:
    number = _number(value)
    if number is None or number >= _IN_SYNC:
        return None
    return (
        f"min.insync.replicas is {number}; a claim that was confirmed can be lost with one broker: "
        f"set it to {_IN_SYNC}"
    )


def _unclean(value: str | None) -> str | None:
    if value != "true":
        return None
    return (
        "unclean.leader.election.enable is true; an election can take claims back that were "
        "confirmed: set it to false"
    )


def _number(value: str | None) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None


# -- questions -----------------------------------------------------------------------------------


async def _describe(cluster: Cluster, topic: str, timeout: float) -> TopicInfo:
    """Describe the topic; that there is none must be said several times.

    1. The topic is made; 2. a broker that has not heard of it yet is asked.
    """
    against = 0

    async def attempt() -> TopicInfo:
        nonlocal against
        seconds = cluster.settings.request_timeout
        view = await cluster.look_up(frozenset({topic}), timeout=seconds)
        found = view.topics.get(topic)
        if found is None or found.is_gone:
            against += 1
            if against < _TIMES:
                raise refusal(ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, (topic,))
            raise CoordinationTopicError(topic, "there is none; `kgroup marshal init` makes it")
        if found.error:
            raise refusal(ApiKey.METADATA, found.error, (topic,))
        return found

    return await retry(cluster, attempt, timeout=timeout, what=f"describe {topic}")


async def _configs(cluster: Cluster, topic: str, timeout: float) -> Mapping[str, str]:
    resource = DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=(resource,))

    async def attempt() -> Mapping[str, str]:
        answer = await cluster.send_any(request, timeout=cluster.settings.request_timeout)
        for row in answer.results:
            if row.error_code:
                raise refusal(ApiKey.DESCRIBE_CONFIGS, row.error_code, (topic,), row.error_message)
            if row.resource_name == topic:
                return {each.name: each.value for each in row.configs if each.value is not None}
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        raise refusal(ApiKey.DESCRIBE_CONFIGS, code, (topic,), "the answer leaves it out")

    return await retry(cluster, attempt, timeout=timeout, what=f"settings of {topic}")
