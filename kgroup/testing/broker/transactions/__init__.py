"""Transactions: which producer may write in one, and how it ends (KIP-98, 360, 890).

- `coordinator`: The coordinators of transactions: ids, what belongs to a transaction, its end
- `requests`: Requests of transactional and idempotent producers to the coordinators of
  transactions
- `transaction`: One transactional id, as its coordinator knows it
"""
