"""Around the core: connections in memory and on the loopback, and what goes wrong on the way."""
