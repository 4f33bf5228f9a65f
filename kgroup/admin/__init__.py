"""Groups, offsets and Marshal groups, seen and edited from outside.

- `marshal`: Marshal groups from outside: set-up of their topic, pauses, positions
- `groups`: What is done to a group, and asked about its offsets, by somebody who is no member
- `lag`: How far a group is behind: committed positions beside the ends of the logs, and who owns
  what
- `obstacles`: What stands in the way when a group's members are replaced, or restarted with other
  assignors
- `offers`: Which assignors the members of a live group offer, and how they rebalance, as far as
  it is known
- `offers_text`: What is known of a group's assignors, and what stands in the way of a plan, for a
  person
"""
