"""Positions, and fetching records from them.

- `fetch_answers`: What a Fetch answer changes, partition by partition
- `fetching`: Fetching ahead: one Fetch in flight per broker, partitions in fair rotation
- `flow`: The calls position, seek and pause
- `jumps`: Every move of a position but by fetching: seek, reset, truncation, a recreated topic
- `logs`: Questions about the logs of any partition; which partitions and topics are new
- `positioning`: Where a claim begins: the committed offset, else the reset policy
- `roster`: Which partitions are wanted of which broker, kept by looking at what changed
- `validating`: Does the present leader's log still hold what was read (KIP-320)?
"""
