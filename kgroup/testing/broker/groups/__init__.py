"""The classic group coordinator: rounds, sessions and fencing, as real brokers answer them.

- `answers`: Answers of the coordinator to members, in the layout their version wants
- `coordinators`: Which broker coordinates which group, and requests of members on their way to it
- `group`: What a coordinator knows of one group: members, phase, generation, and questions about
  them
- `joining`: JoinGroup, as a coordinator that has the group answers it
- `member`: One member as its coordinator knows it
- `rounds`: Rounds and sessions of one coordinator: what time, joining and leaving do to a group
- `shard`: The groups of one partition of the offsets topic: what is in memory, and what is in its
  log
- `syncing`: SyncGroup, Heartbeat and LeaveGroup, as a coordinator that has the group answers them
"""
