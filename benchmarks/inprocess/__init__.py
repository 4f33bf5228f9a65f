"""How fast the in-process Kafka is: groups in memory, clients on its sockets, next to a real Kafka.

Decides: nothing; it measures. `python -m benchmarks.inprocess` runs everything on a quiet machine,
prints a table, and keeps all samples in `benchmarks/results/inprocess.json`.
Never: keeps the time of a run whose result was not right; contestants take turns in fresh
processes, one at a time.

Three questions:
    forming        how long does it take until four members share eight partitions, in memory?
    first record   how long from `start()` of aiokafka to its first record, next to a real broker?
    fetching       how many records per second come through a socket, by client?
Wherever sockets are used, the in-process broker runs in a thread of the client's own process, as it
does in tests; so its work and the client's share one interpreter.
"""
