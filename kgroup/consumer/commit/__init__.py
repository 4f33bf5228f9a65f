"""Commits: what to commit, in which order, and who is told."""
