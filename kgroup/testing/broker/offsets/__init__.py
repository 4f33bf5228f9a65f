"""Committed offsets of groups, and what administrators ask about groups and do to them."""
