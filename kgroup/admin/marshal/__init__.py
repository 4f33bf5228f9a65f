"""Marshal groups from outside: set-up of their topic, pauses, positions.

Decides: who asks for what; what is written in which order is decided by `kgroup.marshal.admin`.
Never: is a member: nothing is read from the topics of a group, and nobody's records are kept.
"""
