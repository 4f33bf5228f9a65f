"""A client in a process of its own, which speaks JSON lines: `python -m kgroup.bench.clients NAME`.

This is the protocol of all adapters, those that do not come with kgroup too.

A process does one job. The job is the first line of its standard input, and each answer is one line
of its standard output. When its standard input ends it has to end, too: nobody is there any more.
All times are seconds of the machine's monotonic clock, all CPU is that of the whole process (user
and system, every thread, children that were waited for) since it began.

The job::

    {"job": "read", "level": "records", "loop": "asyncio", "bootstrap": "127.0.0.1:9092",
     "topic": "plain", "group": "g1", "records": 4000000, "proof": false, "passes": 1}
    {"job": "commit", ..., "warm_up": 200, "commits": 1500}
    {"job": "members", ..., "members": 100, "partitions": 200, "idle_s": 15}
    {"job": "assign", "level": "sticky", "members": 100, "partitions": 1000}
    {"job": "claim", ..., "claims": 20, "log": "claims"}
    {"job": "follow", ..., "level": "range", "instance": null, "session_timeout_s": 6.0,
     "heartbeat_interval_s": 0.5, "auto_commit_s": 1.0, "slow_revoke_s": 0.0, "hold": false}

Each has `"protocol": "classic"`, or `"consumer"` for that of KIP-848, and all but a `follow` a
`limit_s`.

The answers, `ready` when the client is imported and before it is built, then `result`::

    {"ready": {"at": 1.0, "cpu_s": 0.1, "import_s": 0.05, "compiled": null,
               "versions": {"kgroup": "0.1.0", "python": "3.11.7"}}}
    {"result": ...}

With `"profile": true` in a job its result has `"profile": [{"function": ..., "calls": ...,
"share": ...}, ...]` as well: the functions that took the most time themselves, imports included.

`{"absent": "reason"}` comes instead of `ready` when the client cannot be had here, and
`{"failed": "reason"}` instead of either when it raised.

- A `read` consumes the topic from its beginning, `passes` times, each in a group of its own, and
  ends after `limit_s` with what it has: that shows what was lost. Its result is `{"passes":
  [{"began": mark, "first_at": ..., "first_records": ..., "ended": mark, "seen": sums}, ...],
  "rss_bytes": ...}`, where `first_records` were handed out together at `first_at`, a mark is
  `{"at": ..., "cpu_s": ...}` and the sums are `records`, `offset_sum`, `value_bytes` and
  `crc_sum`. The last is null unless the job asks for `proof`: then the CRC-32 of every value is
  added up too, and the time of that run counts for nothing.
- A `commit` reads one record, commits it, waits, and does so again. Its result is
  `{"commits": ..., "committed": ..., "cpu_s": ..., "wall_s": ..., "p50_s": ..., "p99_s": ...,
  "max_s": ..., "rss_bytes": ...}`.
- A `members` job starts many members of one group. Its result is `{"form_s": ..., "form_cpu_s":
  ..., "idle_s": ..., "idle_cpu_s": ..., "rss_bytes": ...}`. It says `formed` when the idle time
  begins, in which the coordinator is asked who holds what. With `"wall": [began, formed]` in
  seconds since the epoch the broker is asked how many rounds there were between.
- An `assign` leads a group in memory: its level names an assignor, all members subscribe to one
  topic. Its result is `{"first": {"times_s": [...], "given": {member: [partition, ...]}},
  "again": ...}`: for a new group, whose last member then leaves, and for those that stay, who hold
  what they were given. A time is CPU from the members' bytes to their assignments' bytes.
- A `claim` job claims the topic's one partition in Marshal mode, `claims` times, in a group of its
  own each time; the log of claims is `log`. Its result is `{"claims_s": [...]}`, each from
  `subscribe` to owning it.
- A `follow` is one member of a group. With `hold` it is loaded, says `ready`, and begins at
  `{"go": true}` on standard input. Its level names the assignor, `instance` a group instance id
  or null. It commits every
  `auto_commit_s`, and tells of each poll at once: `{"got": [at, [[partition, first offset, offset
  behind, sum], ...]]}`, where `at` is the wall clock in seconds, offsets of a row follow each other
  and the sum is that of its values' CRC-32. To `{"mark": true}` on standard input it answers
  `{"mark": mark}`; at `{"stop": true}` it closes its consumer, leaves, and gives its result:
  `{"records": ..., "rss_bytes": ...}`. Its callback takes `slow_revoke_s` when partitions are
  revoked. One with an event loop may tell how late the loop is: `"lag_p99_s"`, 99 of 100 times.

A job that an adapter does not know is answered with `absent`, so not every adapter need do all.
Every result may have `"versions": {name: version}`.

What is in the package:

- `serving`: the lines, and what of the process is measured
- `tally`: what a reader found
- `following`: what a member of a group tells while it follows a topic
- `crowd`: many members in one process
- `measuring`: clock, CPU and memory of a process
- `loops`: asyncio, uvloop or trio
- `native`: kgroup's own consumer
- `claiming`: the same in Marshal mode
- `leading`: leaders of groups, by the assignors of each client
- `aiokafka_like`: aiokafka, and the drop-in for it
- `kafka_python_like`: kafka-python, and the drop-in for it
- `confluent`: confluent-kafka

`kgroup/bench/java/Consume.java` is one more client; it speaks the same lines.
"""
