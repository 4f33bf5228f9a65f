"""The facades: what programs for other clients meet."""
