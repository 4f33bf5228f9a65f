"""Tests of record batches: reading, writing, damage, and agreement with other readers."""
