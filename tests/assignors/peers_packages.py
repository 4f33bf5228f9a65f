"""The assignors of aiokafka and kafka-python, imported with the latter's warnings set aside."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python reads its schemas in a deprecated way
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor as OfKafkaPython
    from kafka.coordinator.assignors.cooperative_sticky import (
        CooperativeStickyAssignor as KafkaCooperative,
    )
    from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaRange
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaRobin
    from kafka.coordinator.assignors.sticky.sticky_assignor import (
        StickyPartitionAssignor as KafkaSticky,
    )
    from kafka.protocol.consumer.metadata import (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
    )
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor as OfAiokafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import (
    StickyPartitionAssignor as AiokafkaSticky,
)
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

__all__ = [
    "AiokafkaRange",
    "AiokafkaRobin",
    "AiokafkaSticky",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolMemberAssignment",
    "ConsumerProtocolMemberMetadata",
    "ConsumerProtocolSubscription",
    "KafkaCooperative",
    "KafkaRange",
    "KafkaRobin",
    "KafkaSticky",
    "OfAiokafka",
    "OfKafkaPython",
]
