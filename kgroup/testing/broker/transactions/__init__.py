"""Transactions: who may write in one, and how it ends (KIP-98, 360, 890)."""
