"""Bytes to values and back: schemas, messages, frames, record batches, embedded protocols."""
