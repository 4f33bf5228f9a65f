"""The classic group coordinator: rounds, sessions and fencing, as real brokers answer them."""
