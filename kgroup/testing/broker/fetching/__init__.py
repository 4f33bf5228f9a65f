"""Fetch: records, and the sessions in which consumers ask for them.

Decides: what a fetch is answered, and when (KIP-74, 227, 320, 392, 516, 595, 951).
Never: writes to a log; `logs` does.

- `fetches`: Fetch: the answer, at once or when there is enough to tell
- `plans`: How one fetch stands to its session: what is read for it, and which part of that is
  told
- `reading`: What one broker reads for one fetch, partition by partition
- `sessions`: Fetch sessions of one broker: what a consumer need not say again (KIP-227)
- `wanted`: What one fetch asks of each partition
"""
