"""DescribeConfigs and IncrementalAlterConfigs, for topics, brokers and groups.

Decides: what is shown and which changes of topics are taken. A broker shows the settings that
clients can feel; they are those of the cluster and cannot be changed while it runs.
Never: obeys a setting; the parts that do read `Topic.configs` and `BrokerSettings`.
KIPs: 133, 226 (synonyms), 339, 569 (types).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from kgroup.codes import ErrorCode
from kgroup.testing.broker.asked import Asked, Handler
from kgroup.testing.broker.cluster.cluster import Cluster, Topic
from kgroup.testing.broker.cluster.topics import (
    TOPIC_CONFIGS,
    ConfigType,
    Node,
    Refusal,
    TopicConfig,
    fault_of_name,
    fault_of_value,
)
from kgroup.testing.broker.settings import BrokerSettings
from kgroup.wire.messages import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    CreatableTopicConfigs,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kgroup.wire.schema import Request

_UNBOUNDED = 2**31 - 1
SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
"""Settings of a single group of KIP-848 (KIP-1043)."""
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def broker_configs(node: Node, settings: BrokerSettings) -> dict[str, str | None]:
    """Return settings by name, in the order of the names; None = not set."""
    size, most = settings.max_group_size, settings.consumer_max_size
    values: dict[str, str | None] = {
        "auto.create.topics.enable": str(settings.auto_create_topics).lower(),
        "broker.id": str(node.node_id),
        "broker.rack": node.rack,
        "group.consumer.heartbeat.interval.ms": _ms(settings.consumer_heartbeat_interval),
        "group.consumer.max.size": str(_UNBOUNDED if most is None else most),
        "group.consumer.session.timeout.ms": _ms(settings.consumer_session_timeout),
        "group.initial.rebalance.delay.ms": _ms(settings.initial_rebalance_delay),
        "group.max.session.timeout.ms": _ms(settings.max_session_timeout),
        "group.max.size": str(_UNBOUNDED if size is None else size),
        "group.min.session.timeout.ms": _ms(settings.min_session_timeout),
        "max.incremental.fetch.session.cache.slots": str(settings.fetch_session_slots),
        "message.max.bytes": str(settings.max_message_bytes),
        "node.id": str(node.node_id),
        "num.partitions": str(settings.default_partitions),
        "offset.metadata.max.bytes": str(settings.offset_metadata_limit),
        "offsets.retention.check.interval.ms": _ms(settings.offsets_retention_check),
        "offsets.retention.minutes": str(int(settings.offsets_retention / 60)),
        "offsets.topic.num.partitions": str(settings.offsets_partitions),
        "replica.selector.class": _RACK_AWARE if settings.follower_reads else None,
        "transaction.max.timeout.ms": _ms(settings.transaction_timeout_limit),
    }
    return values


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))


# -- configuring -----------------------------------------------------------------------------------


_TOPIC: Final = 2
_BROKER: Final = 4
_GROUP: Final = 32
_FROM_TOPIC: Final = 1
_FROM_FILE: Final = 4
_FROM_KAFKA: Final = 5
_FROM_GROUP: Final = 8
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class Configuring:
    """Answers what administrators ask about settings.

    Args:
        cluster: its topics and brokers are described.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def handlers(self) -> dict[type[Request[Any]], Handler]:
        """What is answered here."""
        return {
            DescribeConfigsRequest: self.describe_configs,
            IncrementalAlterConfigsRequest: self.alter_configs,
        }

    # -- showing ---------------------------------------------------------------------------------

    def describe_configs(
        self, asked: Asked, request: DescribeConfigsRequest
    ) -> DescribeConfigsResponse:
        """Answer DescribeConfigs: each resource for itself."""
        rows = []
        for resource in request.resources:
            shown = self._shown(asked.node_id, resource, request)
            refusal = shown if isinstance(shown, Refusal) else None
            row = DescribeConfigsResult(
                error_code=ErrorCode.NONE if refusal is None else refusal.code,
                error_message=None if refusal is None else refusal.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=() if isinstance(shown, Refusal) else tuple(_chosen(shown, resource)),
            )
            rows.append(row)
        return DescribeConfigsResponse(results=tuple(rows))

    def _shown(
        self, node_id: int, resource: DescribeConfigsResource, request: DescribeConfigsRequest
    ) -> list[DescribeConfigsResourceResult] | Refusal:
        name = resource.resource_name
        if resource.resource_type == _BROKER:
            return self._of_broker(node_id, name)
        if resource.resource_type == _GROUP:
            return self._of_group(name)
        if resource.resource_type != _TOPIC:
            text = f"Unsupported resource type: {resource.resource_type}"
            return Refusal(ErrorCode.INVALID_REQUEST, text)
        fault = fault_of_name(name)
        if fault is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        topic = self._cluster.topic(name)
        if topic is None:
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None)
        settings = self._cluster.context.settings
        synonyms = request.include_synonyms
        keys = TOPIC_CONFIGS.values()
        return [_of_topic(topic, each, settings, synonyms=synonyms) for each in keys]

    def _of_broker(self, node_id: int, name: str) -> list[DescribeConfigsResourceResult] | Refusal:
        if not name:
            return []  # settings of all brokers that were changed while they ran
        if not name.isdecimal():
            text = f"Broker id must be an integer, but it is: {name}"
            return Refusal(ErrorCode.INVALID_REQUEST, text)
        if int(name) != node_id:
            text = f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
            return Refusal(ErrorCode.INVALID_REQUEST, text)
        values = broker_configs(self._cluster.nodes[node_id], self._cluster.context.settings)
        return [
            DescribeConfigsResourceResult(
                name=key,
                value=value,
                read_only=True,
                config_source=_FROM_FILE,
                is_sensitive=False,
                synonyms=(),
                config_type=ConfigType.STRING,
            )
            for key, value in values.items()
        ]

    def _of_group(self, name: str) -> list[DescribeConfigsResourceResult]:
        settings = self._cluster.context.settings
        own = self._cluster.coordinators.configs.get(name, {})
        defaults = {
            HEARTBEAT: _ms(settings.consumer_heartbeat_interval),
            SESSION: _ms(settings.consumer_session_timeout),
        }
        return [
            DescribeConfigsResourceResult(
                name=key,
                value=own.get(key, default),
                read_only=False,
                config_source=_FROM_GROUP if key in own else _FROM_KAFKA,
                is_sensitive=False,
                synonyms=(),
                config_type=ConfigType.INT,
            )
            for key, default in defaults.items()
        ]

    # -- changing --------------------------------------------------------------------------------

    def alter_configs(
        self, asked: Asked, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse:
        """Answer IncrementalAlterConfigs: each resource for itself, all of its changes or none."""
        del asked  # any broker passes it on to the controller
        times = Counter((each.resource_type, each.resource_name) for each in request.resources)
        rows = []
        for resource in request.resources:
            again = times[resource.resource_type, resource.resource_name] > 1
            changed = _TWICE if again else self._changed(resource)
            if not isinstance(changed, Refusal) and not request.validate_only:
                configs = self._configs_of(resource)
                configs.clear()
                configs.update(changed)
            refusal = changed if isinstance(changed, Refusal) else None
            row = AlterConfigsResourceResponse(
                error_code=ErrorCode.NONE if refusal is None else refusal.code,
                error_message=None if refusal is None else refusal.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            rows.append(row)
        return IncrementalAlterConfigsResponse(responses=tuple(rows))

    def _configs_of(self, resource: AlterConfigsResource) -> dict[str, str]:
        if resource.resource_type == _GROUP:
            return self._cluster.coordinators.configs.setdefault(resource.resource_name, {})
        return self._cluster.topics[resource.resource_name].configs

    def _changed(self, resource: AlterConfigsResource) -> dict[str, str] | Refusal:
        """Return a topic's settings after a change."""
        refusal = _malformed(resource)
        if refusal is not None:
            return refusal
        name = resource.resource_name
        if resource.resource_type == _GROUP:
            return self._changed_group(resource)
        fault = fault_of_name(name)
        if fault is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
        topic = self._cluster.topic(name)
        configs = {} if topic is None else dict(topic.configs)
        for change in resource.configs:
            refusal = _apply(change, configs)
            if refusal is not None:
                return refusal
        for key, value in configs.items():
            fault = fault_of_value(key, value)
            if fault is not None:
                return Refusal(ErrorCode.INVALID_CONFIG, fault)
        if topic is None:
            text = f"The topic '{name}' does not exist."
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        return configs

    def _changed_group(self, resource: AlterConfigsResource) -> dict[str, str] | Refusal:
        """Return a group's settings after a change; the group need not be there."""
        configs = dict(self._cluster.coordinators.configs.get(resource.resource_name, {}))
        for change in resource.configs:
            refusal = _apply(change, configs)
            if refusal is not None:
                return refusal
        for key, value in configs.items():
            if key not in (SESSION, HEARTBEAT):
                return Refusal(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {key}")
            if not value.isdecimal() or not int(value):
                text = f"Invalid value {value} for configuration {key}"
                return Refusal(ErrorCode.INVALID_CONFIG, text)
        return configs


_TWICE: Final = Refusal(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


def settings_made(topic: Topic, settings: BrokerSettings) -> tuple[CreatableTopicConfigs, ...]:
    """Show a new topic's settings as CreateTopics answers them."""
    rows = (_of_topic(topic, each, settings, synonyms=False) for each in TOPIC_CONFIGS.values())
    return tuple(
        CreatableTopicConfigs(
            name=row.name,
            value=row.value,
            read_only=row.read_only,
            config_source=row.config_source,
            is_sensitive=row.is_sensitive,
        )
        for row in rows
    )


def _of_topic(
    topic: Topic, config: TopicConfig, settings: BrokerSettings, *, synonyms: bool
) -> DescribeConfigsResourceResult:
    default, source = config.default, _FROM_KAFKA
    if config.name == "max.message.bytes":
        default, source = str(settings.max_message_bytes), _FROM_FILE
    own = topic.configs.get(config.name)
    places = [DescribeConfigsSynonym(name=config.broker_name, value=default, source=source)]
    if own is not None:
        places.insert(0, DescribeConfigsSynonym(name=config.name, value=own, source=_FROM_TOPIC))
    return DescribeConfigsResourceResult(
        name=config.name,
        value=places[0].value,
        read_only=False,
        config_source=places[0].source,
        is_sensitive=False,
        synonyms=tuple(places) if synonyms else (),
        config_type=config.type,
    )


def _chosen(
    shown: Iterable[DescribeConfigsResourceResult], resource: DescribeConfigsResource
) -> Iterable[DescribeConfigsResourceResult]:
    keys = resource.configuration_keys
    return (each for each in shown if not keys or each.name in keys)


def _malformed(resource: AlterConfigsResource) -> Refusal | None:
    names = [each.name for each in resource.configs]
    nulls = [
        each.name
        for each in resource.configs
        if each.value is None and each.config_operation != _DELETE
    ]
    problem = None
    if len(set(names)) < len(names):
        problem = "Error due to duplicate config keys"
    elif nulls:
        problem = f"Null value not supported for : {', '.join(nulls)}"
    elif resource.resource_type == _BROKER:
        problem = f"Cannot update these configs dynamically: Set({', '.join(names)})"
    elif resource.resource_type not in (_TOPIC, _GROUP):
        problem = f"Unknown resource type {resource.resource_type}"
    return None if problem is None else Refusal(ErrorCode.INVALID_REQUEST, problem)


def _apply(change: AlterableConfig, configs: dict[str, str]) -> Refusal | None:
    name, value = change.name, change.value or ""
    operation = change.config_operation
    if operation in (_APPEND, _SUBTRACT):
        return _edit(change, configs)
    if operation == _SET:
        configs[name] = value
    elif operation == _DELETE:
        configs.pop(name, None)
    else:
        return Refusal(ErrorCode.INVALID_REQUEST, f"Unknown operations type {operation}")
    return None


def _edit(change: AlterableConfig, configs: dict[str, str]) -> Refusal | None:
    """Add elements to a list, or take them out of it."""
    known = TOPIC_CONFIGS.get(change.name)
    verb = "APPEND" if change.config_operation == _APPEND else "SUBTRACT"
    if known is None or known.type is not ConfigType.LIST:
        text = f"Can't {verb} to key {change.name} because its type is not LIST."
        return Refusal(ErrorCode.INVALID_CONFIG, text)
    old = configs.get(change.name, known.default).split(",")
    given = (change.value or "").split(",")
    if change.config_operation == _APPEND:
        new = [*old, *(each for each in given if each not in old)]
    else:
        new = [each for each in old if each not in given]
    configs[change.name] = ",".join(new)
    return None
