"""What is owned, what was fetched of it, and whether it may be handed out now.

- `chunk`: What one fetch brought of one partition, ready to be handed out
- `damage`: Records that cannot be read: asked for again a few times, then an error until somebody
  seeks
- `delivery`: Handing records out, and hearing that they are done
- `gate`: The gate: what is asked at each hand-out of records
- `notifiers`: The two ways one part of a consumer wakes others
- `owned`: What a consumer owns right now, partition by partition
- `topic_watch`: What stands in the way of the topics that are read
"""
