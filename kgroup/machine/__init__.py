"""What every coordination machine shares: rows, reactions, tickets, lease, claims, commits.

Never: awaits, reads a clock, draws chance, logs or opens a socket.

- `backoff`: How long to wait before trying again
- `claims`: Holdings: what a member owns, partition by partition, and how each one is given up
- `commit_queue`: The commits of one member that wait: what the next request says, and what became
  of each
- `commits`: What a commit says and what its answer means, partition by partition
- `committer`: What is asked of a member whose commits wait, whichever machine makes it
- `coordinator`: Where the coordinator is: a small table beside the round
- `fetch_session`: What one broker knows of what is wanted, and what the next Fetch must tell it
  (KIP-227)
- `lease`: How long ownership can be proved: the lease
- `reactions`: The one table of error reactions: (API, error code) -> what this client does
- `rows`: Transitions as data: rows, and the table that finds the one row for a trigger
- `wishes`: What any member hears from its application and its clock, and what it always answers
  with
"""
