"""The brokers of an in-process cluster, its topics, and who leads what."""
