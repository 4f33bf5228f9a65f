"""Groups that coordinate through a log of claims: the protocol of dropbox/marshal, made pure.

Decides: what is written, what a record means, who owns what, and what a member does next.
Never: reads, writes, waits or looks at a clock; the consumer does, and tells this room.

- `admin`: Setting positions of a group from outside: what is written about each key, and what it
  came to
- `admission`: Records that may be handed out at most once: the steps before, one row each
- `admitting`: Batches that are handed out at most once, moved along the rows of `admission`
- `catching_up`: Folds a log into a world the short way: most records are heartbeats like others
  before them
- `committing`: Commits of the application, at least once: positions on their way into the log
- `describe`: The page about the keys of a Marshal member, written from the rows
- `events`: What goes into a Marshal member and what comes out of it
- `extension`: What kgroup says beside a message: record headers, which the original library never
  sees
- `firing`: One row of one key, carried out
- `handing_back`: Giving up what is owned: no more records, then the listener, then a release
- `hearing`: What was read, and what was answered: which triggers it comes to
- `key_actions`: What the rows of a key do: one arm per action
- `key_rows`: The life of one key as a table
- `key_state`: What is known of one key: who owns it, under which epoch, and where reading stands
- `key_timers`: The timers of a key: which of them run in each phase, and when each is due
- `member`: One member of a Marshal group: a frozen value, replaced by each step
- `messages`: What members write to the coordination topic: five messages, as values and as bytes
- `phases`: The closed sets the rows of a key are written in: phases, triggers, guards, actions
- `plan`: What to claim next, and what to hand back: looked at whenever it may have changed
- `presence`: Who shows itself in the log: members that own nothing would be invisible otherwise
- `rules`: By which rules a log is read, and what a record can turn out to be
- `shares`: Fair shares: how many partitions of a topic one member should have, and what it hands
  back
- `showing`: Signs of presence: how the others know of a member that owns nothing
- `standing`: What one member keeps of what the world says about a key: a frozen copy
- `step`: One step of a Marshal member: `step(member, event, moment) -> Step`
- `survey`: What an administrator asks of a world: who has what, since when, and who else is about
- `transitions`: What a message does to its key: the rules of ownership, one function per type of
  message
- `turn`: The work of one step: the member so far, the effects so far, the rows that fired
- `view`: One coordination partition as one group reads it: records in, the events of its member
  out
- `wishing`: What a member wants of the log at a moment: which keys, and whether it may want any
- `world`: Who owns what, read off the log: the state of all groups that share a coordination
  partition
"""
