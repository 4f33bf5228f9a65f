"""Where reading goes on, and getting records from there.

- `fetch_answers`: What a Fetch answer changes, partition by partition
- `fetching`: Fetching ahead: one Fetch in flight per broker, partitions in fair rotation
- `flow`: Where reading goes on, and whether: position, seek, pause
- `jumps`: Every move of a position that is not reading on: seek, reset, truncation, a topic made
  anew
- `logs`: What the logs hold: questions about any partition, owned or not
- `positioning`: Finding out where to begin: committed offsets first, the reset policy where there
  are none
- `validating`: Validation of positions: does the present leader's log still hold what was read
  (KIP-320)?
"""
