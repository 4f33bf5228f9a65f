"""Committed offsets of groups, and what administrators ask about groups and do to them.

- `administration`: DeleteGroups and OffsetDelete, and what the deletion of a topic does to
  offsets
- `commits`: OffsetCommit and TxnOffsetCommit, as the coordinator of a group answers them
- `part`: Committed offsets and the administration of groups, as a part of the broker's core
- `producers`: Whether the producer of a TxnOffsetCommit may commit in its transaction
- `reading`: OffsetFetch: the committed offsets of groups, as their coordinators answer it
- `store`: The committed offsets in one partition of the offsets topic, as its log has them
"""
