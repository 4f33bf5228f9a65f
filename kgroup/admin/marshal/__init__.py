"""Marshal groups from outside: set-up of their topic, pauses, positions.

Decides: who asks for what; what is written in which order is decided by `kgroup.marshal.admin`.
Never: is a member: nothing is read from the topics of a group, and nobody's records are kept.

- `claim_log`: An administrator's place at the log of claims: reads it, writes to it, reads back
- `committing`: What is committed with the group coordinator, for somebody who is no member
- `group_pause`: A pause of one group as it stands in the log: written, looked after, and taken
  away again
- `pauses`: Pausing a group, and having it go on: what is refused, what is renewed, who is waited
  for
- `positions`: Setting the positions of a Marshal group
- `settings`: What an administrator of a Marshal group is told once
- `verbs`: What a program may ask of a Marshal group from outside: the verbs of `kgroup marshal`
- `watching`: What changes in a Marshal group, as its log is read: claims, takeovers, releases and
  pauses
"""
