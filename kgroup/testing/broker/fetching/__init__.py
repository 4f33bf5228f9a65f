"""Fetch: records, and the sessions in which consumers ask for them.

Decides: what a fetch is answered, and when (KIP-74, 227, 320, 392, 516, 595, 951).
Never: writes to a log; `logs` does.

- `fetches`: Fetch: the answer, at once or when there is enough to tell
- `plans`: What is read for one fetch, and which part of it its session sends
- `reading`: What one broker reads for one fetch, partition by partition
- `sessions`: Fetch sessions of one broker: what a consumer need not say again (KIP-227)
- `wanted`: What one fetch asks of each partition
"""
