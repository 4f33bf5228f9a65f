"""A group whose every step Hypothesis chooses: level A of the simulation, rule by rule.

- `machine`: the rules. `stage`: the world that they act on.
- `post`: messages on their way. `hunting`: how many examples are played, and from which chance.
"""
