"""Deterministic simulation of whole groups: schedules in, broken promises out.

Decides: nothing; `play` is the entry.
Never: draws chance other than by `Choices`, reads a clock, or depends on the order of a hash.
"""
