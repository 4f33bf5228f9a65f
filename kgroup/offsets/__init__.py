"""Where to fetch next, what is done and may be committed, and when a position is reset."""
