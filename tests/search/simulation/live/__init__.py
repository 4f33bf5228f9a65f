"""Levels B and C: whole consumers, in virtual time over memory and in real time over sockets."""
