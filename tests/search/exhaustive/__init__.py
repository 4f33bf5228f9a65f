"""Every schedule of a small group: kgroup's machine and the in-process coordinator, searched whole.

`python -m tests.search.exhaustive --mode cooperative --members 2 --partitions 2 --faults 1`

What is real: `kgroup.membership.step.step`, the bytes of subscriptions and assignments, the
assignors, and the broker core of `kgroup.testing.broker`. What is abstracted:

- Time is one clock in ticks of a heartbeat interval; all timeouts are whole ticks. A message, or a
  run of the assignor, takes no time, and the clock moves on when none is on its way; that it takes
  a tick all the same is a fault of the budget (`late`). Timers of one instant fire in every order.
  So no timer fires in an order that real time forbids, and a lease never outlives a session by
  abstraction. Not covered: instants between ticks; clocks that run apart.
- Connections are FIFO and the broker reads one request of each at a time; JoinGroup and SyncGroup
  have one of their own. The search for the coordinator takes one step.
- Listeners and batches take any time, within `patience`.
- Not in the world: commits, metadata changes, several topics, racks, a second process with the
  same instance id (twins), pauses between rounds that follow too fast.
- Nothing is left out for looking like something else with names exchanged: members are dealt to in
  the order of their ids and partitions in that of their numbers, so a world with two of them
  exchanged is another world.
- With no fault left, moves of one process that nobody else can see are not tried in every order
  with the others' (`World.reduced`).

Files: `__main__` is the command, `scope` what is searched, `search` the walk, `world` the moves of
a state, `local` and `running` the moves of one process, `process` and `facts` what it is and shows,
`counter`, `coming` and `coordinator` the broker's side, `canon` the form in which equal states are
equal.
"""
