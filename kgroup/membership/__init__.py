"""The classic group protocol as a table: states, facts about states, rows, and one pure step.

Never: awaits, reads a clock, draws chance, logs or opens a socket.

- `actions`: What the rows of the round do: one arm per action
- `commit_queue`: The commits of one member that wait: what the next request says, and what became
  of each
- `commits`: What a commit says and what its answer means, partition by partition
- `coordinator`: Where the coordinator is: a small table beside the round
- `describe`: The page about the states of a member, written from the rows
- `described`: What a coordinator says of a group when it is asked before this member is in it
- `ending_rows`: Rows of ending: lost, fenced and refused memberships, leaving, and the heartbeats
  meanwhile
- `events`: What goes into the machine and what comes out of it
- `given_up`: What was asked under the present id and is not awaited any more: it may still say
  "fenced"
- `joining_rows`: Rows of joining: what the application asks for, the round, and what asks for
  another one
- `leadership`: What leading a round means for a member, and what it keeps of it
- `refusals`: What a member's errors say: what was refused, with which value, and the way out
- `requests`: What a member says to the coordinator: the six requests, filled from its value
- `returning`: What a static member that came back owes the group: a round for partitions that
  nobody has
- `settings`: What a classic member is told once
- `standing`: What DescribeGroups says of a generation that stands
- `states`: The states of a classic member, and facts about them
- `step`: One step of a classic member: `step(member, event, moment) -> Step`
- `timers`: The timers of a member: which of them run, and when each is due
- `translate`: From events to triggers: which trigger an answer, a failure or a wish is
- `triggers`: The closed sets the rows are written in: triggers, guards, actions
- `turn`: The work of one step: the member so far, the effects so far, what was raised inside
- `value`: The frozen value of one classic member, and what can be read from it
- `waiting`: What a member that gives something up waits for: the listener that hears of it, up to
  a limit
"""
