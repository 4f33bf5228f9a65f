"""The backends: how it becomes known which partitions this consumer owns, and what is committed."""
