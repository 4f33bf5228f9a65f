"""Real Kafka brokers behind one call.

`RealKafka.start()` takes the first of three ways this machine has: the address in
KGROUP_BOOTSTRAP, a KRaft process of this machine (jars fetched once by Maven or Ivy), a container.

- `broker`: A Kafka for one's own experiments, kept running between commands: `kgroup broker`
- `config`: What a local cluster looks like, and each node's `server.properties`
- `container`: A real Kafka in a container, by testcontainers (extra `docker`)
- `given`: A Kafka that is already there, named by KGROUP_BOOTSTRAP
- `guardian`: A small process beside each local cluster: when its owner is gone, the cluster goes
  too
- `in_process`: The in-process broker as a stand-in, where no real Kafka can be had
- `jars`: The broker's jars: resolved once per version, then read from the cache
- `local`: A Kafka cluster of processes of this machine
- `node`: One Kafka process of this machine
- `ready`: When a broker may be called ready
- `secured`: A secured Kafka for tests: its listeners, users and certificates, and how a client
  uses them
- `supply`: A real Kafka behind one call, however this machine can have one
- `topics`: Topics for tests and demos, by blocking calls: made, and measured from first offset to
  end
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
