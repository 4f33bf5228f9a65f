"""The claims that are owned, their fetched records, and whether those may be handed out.

- `chunk`: What one fetch brought of one partition, ready to be handed out
- `damage`: Records that cannot be read: fetched again a few times, then an error until a seek
- `delivery`: Handing records out, and counting them as done
- `gate`: Whether records may be handed out; records that a deserialiser refused
- `notifiers`: The two ways one part of a consumer wakes others
- `owned`: The claims of a consumer, and what is kept about each; the bound of uncommitted records
- `topic_watch`: Topics and partitions that are asked for and cannot be read
"""
