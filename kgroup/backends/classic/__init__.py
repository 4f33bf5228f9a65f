"""The classic protocol as a backend.

- `backend`: The classic backend: a group coordinated by JoinGroup, SyncGroup and Heartbeat
- `effects`: What the membership machine of a classic group wants done, done
- `interest`: Which topics a member needs metadata of: its own, and the whole group's while it
  leads
- `leading`: The leader's errand: from the members' subscriptions to the bytes of SyncGroup
- `looking_back`: What the group's present generation was made from, as far as its coordinator
  still knows
- `second`: The second: a thread that sends a member's heartbeats while the consumer's loop is
  blocked
- `trace`: What the journal says about each step of the machine
"""
