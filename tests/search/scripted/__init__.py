"""Brokers that answer what a test's script says, over memory streams.

- `broker`: one broker. `cluster`: several behind one `Dial`. `stream`: one end of a connection.
"""
