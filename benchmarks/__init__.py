"""Measurements: scenarios as data, correctness before speed, raw samples kept."""
