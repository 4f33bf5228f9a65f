"""Groups that coordinate through a log of claims: the protocol of dropbox/marshal, made pure.

Decides: what is written, what a record means, which member owns what, and what it does next.
Never: reads, writes, waits or looks at a clock; the consumer does, and passes in what came of it.

What the log says. Every reader of the same records comes to the same answer:

- `transitions`: How is a race of claims decided? `claim`: the claim at the lowest offset wins.
  Also what a heartbeat, a release and a probe do to their key
- `world`: What does one record change? `World.apply` checks it and passes it to `transitions`
- `messages`: What do members write, to the byte, and what do kgroup's headers add?
- `key_state`: What is known of one key, when is it free, and which of its timers are due?
- `rules`: What can a record turn out to be (`Verdict`), and how is one member configured?
- `presence`: Which members are alive though they own nothing, and which are no longer waited for?
- `catching_up`: How is a long log folded fast?
- `standing`: What does a member keep of a key's state? A frozen copy
- `view`: Which events does one group's member get from what was read?
- `survey`: What does an administrator ask: owners, ends of claims, other libraries?

What one member does:

- `member`: What is a member? A frozen value, replaced by each step
- `events`: What goes into a member, and what comes out?
- `step`: What does a member do with one event? `step(member, event, moment) -> Step`
- `turn`: What does one step collect while it runs?
- `hearing`: Which triggers follow from a record that was read, or from an answer?
- `key_rows`: What happens to a key next? One table: phase, trigger, guard, action
- `key_actions`: What does each action of that table do, and when does each guard hold?
- `plan`: What is claimed next, and what is handed back?
- `shares`: How many partitions of a topic should one member have?
- `wishing`: Which keys does a member want at this moment?
- `showing`: When does a member without partitions write that it is alive?
- `committing`: When is a commit answered (at least once)?
- `admission`: Which steps come before records are handed out at most once? One table
- `admitting`: What do the actions of that table do?
- `handing_back`: In which order is a partition given up? Records, then listener, then release

Beside them:

- `admin`: How does an administrator set a group's positions?
"""
