"""The backends: how it becomes known which partitions this consumer owns, and what is committed.

- `classic`: The classic protocol as a backend
- `consumer_group`: The protocol of KIP-848 as a backend
- `marshal`: Marshal mode in a running consumer: what is between brokers and the pure member
- `backend`: One interface for every way to coordinate a group
- `choice`: Which backend coordinates a group: as the options say
- `choosing`: A backend that finds out first which protocol the brokers speak
- `commit_journal`: Commits that are asked one by one, as the event log has them
- `commit_queue`: The commit queue of a member, driven: requests are sent one by one, callers wait
  for outcomes
- `conductor`: The conductor: the only writer of a member's value, whichever machine makes it
- `coordinator_search`: Finding a group's coordinator, for a client outside the group
- `offset_reading`: Reading committed offsets from the coordinator
- `standalone`: The backend of a consumer that assigns by hand: no group decides, nothing is ever
  taken away
- `topics`: What a subscription comes to: names of topics, from one view of the cluster
"""
