"""Time, memory and quality of assignors, next to other clients' in the same run.

Decides: nothing; it measures. `python -m benchmarks.assignors` shows progress and a table;
`--json FILE` keeps everything, raw times included. kgroup, aiokafka and kafka-python run in one
process each, Java in a fourth when this machine has a JDK and the broker's jars; they take turns.
Never: shows the time of a result that has not been found complete, disjoint and for subscribers
only; every timed result is checked, outside the timing.

A client does what its leader does, in three parts that are timed apart:
    read    from each member's bytes to its subscription, with the client's own decoder;
    assign  from those and the cluster metadata to the finished assignment;
    encode  from that to each member's bytes (kgroup: after its check of the assignment).
No part profits from the one before: every repetition starts from bytes. kgroup's assignment is a
lazy sequence of numbers, so its `assign` alone would flatter it; tables show the sum as well.
"""
