"""The matrix of faults and the soak of the streaming source: `python -m tests.spark.matrix`.

- `cells`: which process is struck, at which moment, on how many brokers
- `program`: what a user would write: a query from a topic to Parquet
- `processes`: the processes of a running program, told apart, and struck
- `sunk`: what is in a sink, as its log says, and what stands in a checkpoint
- `members`: what writes to the topic, and a plain consumer of the same group
- `watch`: the rule that a commit is never ahead of what was sunk or handled
- `scene`: a topic, a program that reads it, and what is asked about them
- `moments`: how each moment is brought about, and seen to be there
- `strikes`: how each victim is struck, and seen to be gone
- `play`: one cell from its start to the verdict
- `judging`: `kgroup spark verify` on what was sunk and handled
- `soak`: an hour of coming and going
- `ledger`: one line for each run
- `__main__`: the command
"""
