"""The logs of partitions, and the requests that write to them or ask where they end.

Decides: what a broker keeps of what it is sent, and how a log is cut.
Never: chooses leaders or answers Fetch; `cluster` and `fetching` do.
"""
