"""Real Kafka brokers behind one call."""
