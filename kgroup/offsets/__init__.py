"""Where to fetch next, which records are done and may be committed, and when a position is reset.

- `ledger`: Which records are handed out, which are done, and so which offset may be committed
- `positions`: Where the next fetch of a claim begins, and how that becomes known
- `reset`: When a position is set by policy, and when that would be wrong
"""
