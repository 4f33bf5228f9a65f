"""The pytest plugin of kgroup: real Kafka brokers as fixtures."""
