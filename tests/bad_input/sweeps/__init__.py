"""Every answer of a session cut at every byte, and every error code of every API."""
