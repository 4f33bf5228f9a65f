"""The coordinator's side of KIP-848: heartbeats, epochs and assignments, as Kafka 4.3.1 has them.

- `assigning`: The assignors of the coordinator: `uniform` and `range`
- `classic_members`: JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a group of KIP-848
- `describing`: ConsumerGroupDescribe, and how these groups are listed
- `group`: What a coordinator knows of one group of KIP-848, and how it moves a member to its target
- `heartbeats`: ConsumerGroupHeartbeat, as a coordinator answers it
- `member`: One member as its coordinator knows it, whichever of the two protocols it speaks
- `pace`: What time and topics do to a group of KIP-848: targets, sessions, and ends of patience
- `turning`: A group changes its protocol while it has members
"""
