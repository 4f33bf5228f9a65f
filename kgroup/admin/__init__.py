"""Groups, offsets and Marshal groups, seen and edited from outside.

Decides: what an administrator, who is no member, may ask and change.
Never: joins a group, or reads the records of its topics.

- `groups`: How is a group deleted, a member evicted, an offset read, the lag computed?
- `offers`: Which assignors do the members of a live group offer, and how do they rebalance?
- `obstacles`: What prevents replacing a group's members, or restarting them with other assignors?
- `moving`: What prevents members from speaking the protocol of KIP-848 one by one?
- `offers_text`: How are offers and obstacles shown to a person?
- `marshal`: Marshal groups: setting up their topic, pauses, positions, watching
"""
