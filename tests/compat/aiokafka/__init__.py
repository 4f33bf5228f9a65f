"""The facade for programs of aiokafka."""
