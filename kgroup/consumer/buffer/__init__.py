"""What is owned, what was fetched of it, and whether it may be handed out now."""
