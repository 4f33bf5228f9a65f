"""A Kafka in the process: real bytes, the rules of real brokers, any clock.

The rooms, top to bottom; every import points down, and nothing below `server` awaits, reads a
clock, draws chance or opens a socket:

- `inprocess`: `InProcessBroker`, what tests hold in their hands; `handles`: its group, partition
  and node handles
- `server`: streams in memory, sockets on the loopback, the order of answers, faults on the way
- `core`: one cluster, as a value that requests and time are fed into
- `groups`, `offsets`, `transactions`, `fetching`, `logs`, `cluster`: the rules
- `context`, `agenda`, `asked`, `settings`, `release`, `mint`, `bell`, `java_hash`: what they share

- `group_view`: What tests see of a consumer group at one instant
- `handles_group`: The handle of a consumer group: what tests see of it and do to it
- `releases`: The releases of Kafka that an in-process cluster can pass for
- `waiting`: Waiting until a cluster is as a test wants it, in async tests and in plain ones
"""
