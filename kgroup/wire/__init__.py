"""Bytes to values and back: schemas, messages, frames, record batches, embedded protocols.

- `messages`: Every message of the protocol that kgroup speaks;
- `records`: Record batches: magic 0 to 2 read to columns, magic 2 written for the internal
  producer
- `offsets_log`: Records of `__consumer_offsets`: what a coordinator keeps of groups and commits
- `borrowed`: aiokafka's protocol types, without aiokafka's client
- `classic_bytes`: Kafka's classic (non-flexible) primitive types, as the embedded protocols use
  them
- `compile`: Turns declarations into functions, each on first use, and keeps them
- `compression`: Compression of record batches: five codecs, every output bounded
- `consumer_protocol`: The embedded protocol `consumer`: what members put into JoinGroup and
  leaders into SyncGroup
- `decoding`: Writes the decode function of one message class in one version
- `encoding`: Writes the encode function of one message class in one version
- `frames`: Frames: a size, a header and a message;
- `partition_runs`: Partitions as they travel: one topic and its numbers at a time
- `primitives`: What generated decoders and encoders call: varints, tagged fields, runs, and the
  errors
- `schema`: How a message of the Kafka protocol is declared, made, written and read
- `source`: Python source under construction: lines, indentation, fresh names and constants
- `user_data`: The user data of the two sticky assignors, carried inside a member's subscription
- `vocabulary`: The words schemas are written in: aiokafka's protocol types, and kgroup's own
  beside them
"""
