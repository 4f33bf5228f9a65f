"""The group protocol of KIP-848 as a table: states, facts about states, rows, and one pure step.

Never: awaits, reads a clock, draws chance, logs or opens a socket.

| question | file |
|---|---|
| which states are there, and what is true in each | `states` |
| which triggers, guards and actions are there | `triggers` |
| which event or answer is which trigger | `translate` |
| which row joins, reconciles, is fenced, or leaves | `rows` |
| what does an action do | `actions` |
| what is taken, and what is given up, of an assignment | `reconciling` |
| in which order does one step happen | `step`, with its work in `turn` |
| what does a member remember, and what has the coordinator heard of it | `value` |
| which events come in, which effects go out | `events` |
| when does a timer fire, when does a guard hold | `timers` |
| what is in each request | `requests` |
| what does an error say to the user | `refusals` |
| which options does a member read | `settings` |

The coordinator divides the partitions, and each member reconciles for itself:
1. The member joins with epoch 0, under an id that it made. The answer has its epoch.
2. An answer with an assignment says which partitions it may own now. What is missing in it is
   revoked first: a claim goes from HELD to DRAINING, to REVOKING, and ends.
3. What is new is taken, and one heartbeat says what the member owns now: it acknowledges.
4. When that is answered, records of what was new are handed out, and the member is STABLE. The
   coordinator gives a partition that was revoked to another member only now.

One heartbeat is in flight at a time. After an error, or without an answer, the next one says
everything, and is answered with the whole assignment. Nothing is taken of an older one then.
"""
