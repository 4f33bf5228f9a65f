"""Members of a Marshal group over one log, in virtual time: what can go wrong, and what must hold.

Decides: which member reads and writes what when, from one seed. Pure: no IO, no clock, the real
`step`.
"""
