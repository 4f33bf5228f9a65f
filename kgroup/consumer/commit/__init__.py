"""Commits: what to commit, in which order, and who is told.

- `autocommit`: Committing what is done, every now and then
- `commit_order`: The order of commits: as they were asked for, whoever asked, and who hears when
- `committing`: Commits: from what is done, or what the application says, to outcomes per
  partition
"""
