"""The pytest plugin as its users see it."""
