"""A Kafka in the process: real bytes, the rules of real brokers, any clock.

The rooms, top to bottom; every import points down, and nothing below `server` awaits, reads a
clock, draws chance or opens a socket:

- `inprocess`: `InProcessBroker`, what tests hold in their hands; `handles`: its group, partition
  and node handles
- `server`: streams in memory, sockets on the loopback, the order of answers, faults on the way
- `core`: one cluster, as a value that requests and time are fed into
- `groups`, `offsets`, `transactions`, `fetching`, `logs`, `cluster`: the rules
- `context`, `agenda`, `asked`, `settings`, `release`, `mint`, `bell`, `java_hash`: what they share
"""
