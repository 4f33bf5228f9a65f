"""Marshal groups from outside: set-up of their topic, pauses, positions.

Decides: which requests are made, and in which order they are refused, renewed and waited for. What
    is written about a key, and in which order, is decided by `kgroup.marshal.admin`.
Never: becomes a member: nothing is read from the topics of a group, and no records are kept.

- `verbs`: Which verb of `kgroup marshal` does what? Begin here
- `claim_log`: How does an administrator read and write the log of claims?
- `pauses`: How is a group paused and resumed, and when is that refused?
- `group_pause`: How is one pause written, renewed and removed?
- `positions`: How are the positions of a Marshal group set?
- `committing`: How are positions committed and read with the group coordinator?
- `finding`: Which groups claim their partitions in a log?
- `watching`: Which claims, takeovers, releases and pauses happen while one watches?
- `settings`: What is an administrator configured with, and how is the topic created?
"""
