"""What a broker says its settings are.

Decides: how `BrokerSettings` is told in Kafka's names and units.
Never: names a setting that has no effect here.
"""

from kgroup.testing.broker.cluster.node import Node
from kgroup.testing.broker.settings import BrokerSettings

__all__ = ["broker_configs"]

_UNBOUNDED = 2**31 - 1
_RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def broker_configs(node: Node, settings: BrokerSettings) -> dict[str, str | None]:
    """Return settings by name, in the order of the names; None = not set."""
    size = settings.max_group_size
    values: dict[str, str | None] = {
        "auto.create.topics.enable": str(settings.auto_create_topics).lower(),
        "broker.id": str(node.node_id),
        "broker.rack": node.rack,
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
