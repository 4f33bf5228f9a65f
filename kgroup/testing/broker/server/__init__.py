"""Around the core: connections in memory and on the loopback, and what goes wrong on the way.

- `faults`: What goes wrong on the way: rules that tests lay down for requests and their answers
- `line`: One connection to one broker: requests go on one at a time, answers leave in order
- `memory`: Connections in memory, which drive the broker's clock: virtual or real, without any
  task
- `misdeeds`: One rule about answers: which answers it fits, and what it does to them
- `refusals`: Answers that are nothing but an error
- `sockets`: Connections on the loopback: one listener per broker, served in a thread with a loop
  of its own
- `switchboard`: Pairs connections with the core: which client asked, where
  its answer goes, what time it is
"""
