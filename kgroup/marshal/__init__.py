"""Groups that coordinate through a log of claims: the protocol of dropbox/marshal, made pure.

Decides: what is written, what a record means, who owns what, and what a member does next.
Never: reads, writes, waits or looks at a clock; the consumer does, and tells this room.
"""
