"""The classic protocol as a backend."""
