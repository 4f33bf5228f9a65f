"""How an in-process cluster is configured: the broker settings that clients can feel.

Decides: names and defaults. A name is that of Kafka's broker setting, times in seconds; the
defaults are Kafka's, except that no client waits without need (no initial delay, no loading) and
that the offsets topic has 4 partitions.
Never: holds what a test does to a running cluster; those are calls of `InProcessBroker`.
"""

from kgroup.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings of every broker of the cluster.

    Args:
        initial_rebalance_delay: group.initial.rebalance.delay.ms; Kafka's default is 3 s.
        min_session_timeout: group.min.session.timeout.ms.
        max_session_timeout: group.max.session.timeout.ms.
        max_group_size: group.max.size, None = without limit.
        consumer_session_timeout: group.consumer.session.timeout.ms, of members of KIP-848.
        consumer_heartbeat_interval: group.consumer.heartbeat.interval.ms.
        consumer_assignment_interval: the shortest time between two targets of such a group; 1 s in
            Kafka 4.3.
        consumer_max_size: group.consumer.max.size, None = without limit.
        consumer_migration: whether a group with members changes its protocol, as by
            group.consumer.migration.policy `bidirectional`; False is `disabled`.
        new_member_join_timeout: how long a member without an id may be parked; 5 minutes in every
            Kafka.
        offsets_partitions: offsets.topic.num.partitions; Kafka's default is 50.
        offsets_topic_creation: how long the offsets topic and that of transactions take to be
            made when somebody first asks for a coordinator (`broker_facts.md` F6); 0 = the offsets
            topic is there from the beginning.
        offsets_retention: offsets.retention.minutes; 7 days.
        offsets_retention_check: offsets.retention.check.interval.ms; 10 minutes.
        offset_metadata_limit: offset.metadata.max.bytes.
        load_time: how long a coordinator loads a partition of the offsets topic that it takes over.
        auto_create_topics: auto.create.topics.enable.
        default_partitions: num.partitions, of topics that are made without a count.
        follower_reads: whether leaders send consumers to a replica in their rack (replica.selector.
            class RackAwareReplicaSelector); Kafka's default is not to.
        election_delay: how long a dead broker's partitions keep naming it; Kafka's
            broker.session.timeout.ms, 9 s. A broker that is stopped in good order has none.
        fetch_session_slots: max.incremental.fetch.session.cache.slots of each broker.
        max_message_bytes: message.max.bytes, of a batch.
        transaction_timeout_limit: transaction.max.timeout.ms.
        marker_delay: time between the answer of EndTxn and the markers being in the logs; pending
            offsets are unstable until then.
    """

    initial_rebalance_delay: float = 0.0
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    max_group_size: int | None = None
    consumer_session_timeout: float = 45.0
    consumer_heartbeat_interval: float = 5.0
    consumer_assignment_interval: float = 1.0
    consumer_max_size: int | None = None
    consumer_migration: bool = True
    new_member_join_timeout: float = 300.0
    offsets_partitions: int = 4
    offsets_topic_creation: float = 0.0
    offsets_retention: float = 7 * 24 * 3600.0
    offsets_retention_check: float = 600.0
    offset_metadata_limit: int = 4096
    load_time: float = 0.0
    auto_create_topics: bool = True
    default_partitions: int = 1
    follower_reads: bool = False
    election_delay: float = 0.0
    fetch_session_slots: int = 1000
    max_message_bytes: int = 1_048_588
    transaction_timeout_limit: float = 900.0
    marker_delay: float = 0.0
