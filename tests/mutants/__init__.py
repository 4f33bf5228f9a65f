"""Planted mutants: forty faults, each put into the product in memory, and found by simulation."""
