"""Levels A and A': members' machines and a broker's core in one heap of virtual time."""
