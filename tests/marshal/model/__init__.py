"""Groups that coordinate through a log, drawn from a seed: small clients against the real reducer.

Decides: what can go wrong with the log, and what must hold all the same. Pure: no IO, no clock.
"""
