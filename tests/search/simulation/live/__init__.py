"""Levels B and C: whole consumers, in virtual time over memory and in real time over sockets.

- `run`, `stage`: play a plan from the first member to the last.
- `life`, `crew`: one consumer with its application, and all of them.
- `nemesis`, `cluster`: faults of members and connections, and faults of the cluster.
- `reach`, `memory`, `sockets`: how a process reaches the brokers at level B and at level C.
- `backends`: asyncio and trio, always in the same order.
- `standstill`, `rest`: processes that stand still, and what must hold at rest.
"""
