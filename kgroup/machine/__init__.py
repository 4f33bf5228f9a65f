"""What every coordination machine shares: rows, reactions, tickets, lease, claims.

Never: awaits, reads a clock, draws chance, logs or opens a socket.

- `backoff`: How long to wait before trying again
- `claims`: Holdings: what a member owns, partition by partition, and how each one is given up
- `fetch_session`: What one broker knows of what is wanted, and what the next Fetch must tell it
  (KIP-227)
- `lease`: How long ownership can be proved: the lease
- `reactions`: The one table of error reactions: (API, error code) -> what this client does
- `rows`: Transitions as data: rows, and the table that finds the one row for a trigger
- `wishes`: What any member hears from its application and its clock, and what it always answers
  with
"""
