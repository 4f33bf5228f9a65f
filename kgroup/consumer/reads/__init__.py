"""Records in the hands of the application: one by one, in batches, in loops."""
