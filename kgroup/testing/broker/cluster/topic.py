"""Topics and their partitions, as the cluster's metadata has them.

Decides: nothing; `Cluster` does.
Never: holds records; a partition's `Log` does, one for all of its replicas.
"""

from dataclasses import dataclass, field

from kgroup.testing.broker.logs.log import Log
from kgroup.types import TopicPartition

__all__ = ["OFFSETS_TOPIC", "TRANSACTIONS_TOPIC", "Partition", "Topic"]

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"


@dataclass(slots=True)
class Partition:
    """One partition.

    Args:
        tp: topic and number.
        topic_id: 16 bytes; a topic that is made anew has another.
        leader: node id, None while no replica may lead.
        epoch: of the leader; each change of leader adds 1, also that to nobody.
        replicas: node ids, the preferred leader first.
        isr: those of them that may lead, never empty: the last one stays in when it goes down.
        log: its records.
    """

    tp: TopicPartition
    topic_id: bytes
    leader: int | None
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    log: Log


@dataclass(slots=True)
class Topic:
    """One topic.

    Args:
        name: its name.
        topic_id: 16 bytes.
        partitions: by number.
        configs: settings that differ from the brokers' defaults.
        internal: whether it is Kafka's own.
    """

    name: str
    topic_id: bytes
    partitions: list[Partition] = field(default_factory=list)
    configs: dict[str, str] = field(default_factory=dict)
    internal: bool = False
