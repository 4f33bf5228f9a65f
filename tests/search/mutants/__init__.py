"""Planted mutants: faults, each put into the product in memory, and found by simulation."""
