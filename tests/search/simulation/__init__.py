"""Deterministic simulation of whole groups: schedules in, broken promises out.

- `play`: plays one schedule, at any level; `__main__` is `make search ARGS=simulate`.
- `choices`, `schedule`: where chance comes from, and how a run is named, saved and replayed.
- `plan`, `drawing`, `drawing_ambushes`: what is drawn for a run.
- `world`, `live`: how level A, and how levels B and C, play a plan.
- `recorder`: the event log of a run, and the oracles that read it.
- `campaign`, `coverage`: many schedules, and which rows of the membership table they meet.
- `shrinking`, `story`: a failure made smaller, and written as text.
- `share`, `kept.json`: what `make search` plays, and what long searches have found.
- `named`: one schedule for each bug that users of other clients reported.
- `stateful`: level A, driven by Hypothesis.
- `worlds`, `live_plans`: plans written by hand, for tests.

Never: draws chance other than by `Choices`, reads a clock, or depends on the order of a hash.
"""
