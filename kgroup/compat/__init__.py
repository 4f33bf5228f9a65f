"""Stand-ins for other clients' consumers: change one import, keep the program.

Decides: nothing; each facade is a package of its own: `kgroup.compat.aiokafka` and
`kgroup.compat.kafka_python`.
Never: holds logic of its own: a facade translates names, defaults, types and exceptions. Imports
or builds the other client's consumer, fetcher, coordinator or connections; borrowed are errors,
records, listener classes, assignor classes and the version.

- `aiokafka`: aiokafka's consumer on kgroup: change one import, keep the program
- `kafka_python`: Change one import: `from kgroup.compat.kafka_python import KafkaConsumer`
- `pins`: Which versions of another client a facade can stand in for
- `protocols`: The group protocol as an extra keyword of the drop-ins
- `raising`: Raising an error of ours as another client's
"""
