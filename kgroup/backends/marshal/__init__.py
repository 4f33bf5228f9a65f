"""Marshal mode in a running consumer: what is between brokers and the pure member.

- `appender`: Writes messages to the coordination topic, in the order they were asked for
- `backend`: The Marshal backend: a group that coordinates by claims written to a log
- `clock_check`: Whether this process's clock is that of the others, where leases depend on it
- `coordination_topic`: The coordination topic as metadata shows it, and whether it still is the
  one it was
- `effects`: What the machine of a Marshal member wants done, done
- `entrance`: What must hold before a member begins to claim
- `followed_log`: One coordination partition as it is read: position, state, and what stands in
  the way
- `log_fetch`: Fetch of coordination partitions, as messages
- `log_questions`: Questions about one coordination partition: where to begin, and whether it is
  what was read
- `log_reader`: Reads the coordination partitions of a group's topics, each to its end and on
- `offset_commits`: Positions committed with the group coordinator, beside the log of claims
- `positions`: What is committed, of any partition: the log of claims, else the group coordinator
- `recalling`: Positions of keys in the part of a log of claims that was not read
- `start_positions`: Where a partition that was claimed is read from
- `topic_check`: Whether the coordination topic is fit for its purpose
- `trace`: What the journal is told about each step of a Marshal member
- `window`: Where reading a coordination partition begins: so early that what went before cannot
  matter
"""
