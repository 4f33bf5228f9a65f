"""Commits: what to commit, in which order, and when callers get the outcome.

- `autocommit`: Auto-commit: when, and of what
- `commit_order`: The order of commits, and the order of their callbacks
- `committing`: Which offsets a commit has, and under which claims; to outcomes per partition
"""
