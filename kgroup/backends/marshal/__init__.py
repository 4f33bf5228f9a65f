"""Marshal mode in a running consumer: what is between brokers and the pure member."""
