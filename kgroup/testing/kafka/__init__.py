"""Real Kafka brokers behind one call.

`RealKafka.start()` takes the first of three ways this machine has: the address in
KGROUP_BOOTSTRAP, a KRaft process of this machine (jars fetched once by Maven or Ivy), a container.
"""

from kgroup.testing.kafka.jars import DEFAULT_VERSION, VERSIONS
from kgroup.testing.kafka.node import KafkaStartError
from kgroup.testing.kafka.secured import (
    Acl,
    AclOperation,
    AclResource,
    SecureAccess,
    add_acls,
    remove_acls,
    unsecured_token,
)
from kgroup.testing.kafka.supply import RealKafka
from kgroup.testing.kafka.topics import create_topic, read_bounds

__all__ = [
    "DEFAULT_VERSION",
    "VERSIONS",
    "Acl",
    "AclOperation",
    "AclResource",
    "KafkaStartError",
    "RealKafka",
    "SecureAccess",
    "add_acls",
    "create_topic",
    "read_bounds",
    "remove_acls",
    "unsecured_token",
]
