"""The consumer: conductor, backends, fetching, batches."""
