"""The logs of partitions, and the requests that write to them or ask where they end.

Decides: what a broker keeps of what it is sent, and how a log is cut.
Never: chooses leaders or answers Fetch; `cluster` and `fetching` do.

- `asking`: ListOffsets, OffsetForLeaderEpoch and DeleteRecords: where logs begin and end
- `checks`: What a leader checks in a batch before it looks at its producer
- `leading`: Whether a broker may answer for a partition (KIP-320)
- `log`: The log of one partition, as its leader has it and every replica sees it
- `produced`: The answer to a Produce (KIP-467, 516, 951)
- `producers`: What a log knows of the producers that write to it: sequences and open transactions
  (KIP-98)
- `producing`: Produce: batches into logs, and the answer when enough replicas have them
- `stored`: One batch as a log keeps it: its bytes, and the figures that searching needs
"""
