"""What consuming costs, next to other clients: `python -m benchmarks.consume`.

One broker, one run, all clients in turn, each in a process of its own (`benchmarks.clients`).

- `scenarios`: what is measured, as data
- `plan`: how much is measured
- `filling`: the topics, and what a reader must find in them
- `workers`: one process: its job, its answers, its CPU; how the Java client is compiled
- `contest`: the rounds; a result that is wrong has no figures
- `figures`: from raw samples to medians and spreads
- `goals`: what is to be reached, and whether it is
- `document`: the results as JSON
- `report`: tables on the terminal
- `page`: `docs/performance.md`, from the JSON that is committed
"""
