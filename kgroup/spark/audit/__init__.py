"""A fleet's verdict: the event logs of many groups, judged side by side.

- `form`: A line of an event log exactly as the writer makes it, as a pattern
- `belonging`: Which files are whose, and what they alone say against a group
- `passing`: Whether a group passes the sieve, from its claims alone, and with which numbers
- `sieve`: One event log in one pass: whose its lines are, and what became of each claim
- `sifting`: Logs through the sieve, on a worker: one after the other, each read once
- `logs`: Where a fleet's events are read from: event logs, or the Parquet that was made of them
- `judge`: The judge of one group, on a worker
- `large`: A group too large for one worker, judged in shares of its partitions
- `fleet`: The sieve, the judge, and one verdict for each group
- `tables`: A fleet's verdict as tables: groups, their partitions, their problems

The sieve lets a group pass only if all it holds is plain: each line exactly in the writer's form,
each member started and stopped, each claim begun, read without a gap and given up before the next
began. A group with anything else goes to `kgroup.audit`, entry by entry. So the sieve may send too
much, and never too little.
"""
