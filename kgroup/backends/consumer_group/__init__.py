"""The protocol of KIP-848 as a backend.

- `backend`: The backend of KIP-848: a group whose coordinator divides the partitions
- `effects`: What the machine of a KIP-848 member wants done, done
- `session_time`: How long a session is, as brokers tell it
- `trace`: What the journal says about each step of the machine
"""
