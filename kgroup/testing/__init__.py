"""What tests, demos and users need to run against a Kafka."""
