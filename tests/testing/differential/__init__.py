"""Random scripts of raw requests, run on a real broker and replayed on the one in the process.

The real broker goes first: what was sent and answered, frame by frame and with its instants, is a
`Trace`. The core is then fed the same frames at the same instants under a clock of its own, and it
is lent the member ids the real broker made up, so that even what depends on their hash has to be
the same. Every answer is compared: content, whether there is one at all, and when.

- `script`: what members will do, as data; `cast`: how a step becomes a request
- `planning`, `generator`, `choices`: a seed becomes a script, with the core beside it to keep away
  from the edges of timers
- `real`, `session`: scripts on a real broker, many at once; `trace`: what happened there
- `replay`, `judging`: the same on the core, and what differs; `explained`: what may differ, and why
- `campaign`, `minimise`, `report`, `__main__`: `make differential`

No client library takes part: the frames are written and read by `kgroup.wire`, on plain sockets.
"""
