"""Planted bugs: each changes kgroup's code in memory, and a search must find it.

- `listed`: the bugs. `mutant`, `patching`: what one is, and how it is put in place.
- `__main__`, `hunting`: hunt bugs, or replay `saved.json`; `child` is the process that has the bug.
- `playing`, `logs`, `plans`: groups, logs of claims, and written plans that are played.
- `alone`: for each oracle a bug that only it finds.
"""
