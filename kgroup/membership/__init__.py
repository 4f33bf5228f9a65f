"""The classic group protocol as a table: states, facts about states, rows, and one pure step.

Never: awaits, reads a clock, draws chance, logs or opens a socket.

| question | file |
|---|---|
| which states are there, and what is true in each | `states` |
| which triggers, guards and actions are there | `triggers` |
| which event or answer is which trigger | `translate` |
| which row joins a group, or begins another round | `joining_rows` |
| which row ends ownership, or leaves the group | `ending_rows` |
| what does an action do | `actions` |
| in which order does one step happen | `step`, with its work in `turn` |
| what does a member remember, and owe to the group | `value` |
| which events come in, which effects go out | `events` |
| when does a timer fire | `timers` |
| what is in each request | `requests` |
| what does an error say to the user | `refusals` |
| what does a leader ask its assignor, and remember | `leadership` |
| what does a static member that restarts owe the group | `returning` |
| what does DescribeGroups say of the group | `group_description` |
| which late answer can still say that a static member is fenced | `given_up` |
| what does a member keep whose lease is over, where that is asked for | `lapsing` |
| how long does a member wait for its listener | `waiting` |
| what may be said for a member whose loop is blocked, and what does it prove | `second` |
| which options does a member read | `settings` |

An error code keeps one name all the way. ILLEGAL_GENERATION, answered to SyncGroup:
1. `kgroup.machine.reactions`: the reaction is LOSE_GENERATION.
2. `translate`: the reaction is the trigger GENERATION_LOST_IN_ROUND (GENERATION_LOST when a
   heartbeat or a commit is answered so).
3. `joining_rows`: the row of that trigger does LOSE_GENERATION (`ending_rows` for the other one).
4. `actions`: LOSE_GENERATION is LOSE_ALL and FORGET_GENERATION.

A cooperative member hands a partition back:
1. `actions`: ADOPT compares the assignment with what is owned, and releases what is gone.
2. `kgroup.machine.claims`: the claim goes from HELD to DRAINING, to REVOKING, and ends.
3. `waiting`: `tell_group` raises ROUND_OWED, or HANDED_BACK when the round waits for it.
4. `joining_rows`: the row of that trigger begins the next round.

A partition is revoked: `kgroup.offsets.ledger` says which offset of its claim can be committed, and
`kgroup.machine.commit_queue` sends it while the claim holds. What is lost is not committed.
"""
