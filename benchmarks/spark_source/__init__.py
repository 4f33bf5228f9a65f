"""What reading from Spark costs: kgroup's source next to Spark's own, in turn in one session.

- `__main__`: The command: what is measured, and the report
- `session`: A Spark with both sources, and what a piece of work costs it
- `sharing`: What a query's commits take, and what a member costs it that joins and leaves
- `verifying`: What `kgroup spark verify` takes for a large table
"""
