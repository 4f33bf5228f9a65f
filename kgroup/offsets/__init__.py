"""Where to fetch next, what is done and may be committed, and when a position is reset.

- `ledger`: What has been handed out, what is done, and so what may be committed, claim by claim
- `positions`: Where the next fetch of a claim begins, and how that becomes known
- `reset`: When a position is set by policy, and when that would be wrong
"""
