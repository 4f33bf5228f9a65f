"""kgroup: a Kafka consumer that implements the group protocol itself."""
