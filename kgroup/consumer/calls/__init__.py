"""The public calls of a consumer, by subject."""
