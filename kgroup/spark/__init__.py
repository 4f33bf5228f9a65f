"""Spark through PySpark: a source that is a member of a group (`format("kgroup")`).

- `source`: What Spark is given: the data source, its readers, and the order of their calls
- `query`: One streaming query in its reader process: which batch comes next, and what is committed
- `member`: A query's member of its group, and what it asks of the cluster; on an event loop
- `driver`: The thread in which a query's member lives, and how Spark's thread asks it
- `where`: Where reading begins and ends, as options say it
- `places`: Where a query begins and ends, asked of the cluster
- `reading`: A task on an executor: ranges to Arrow batches
- `worker`: A worker's connections: one consumer for all tasks with the same options
- `connecting`: The options of the consumer that a query's options make
- `options`: The options of `format("kgroup")`, as typed by a user of Spark
- `offsets`: The offset of a streaming query as Spark keeps it: JSON in the checkpoint
- `positions`: Where a streaming query goes on with a partition: one table
- `batch`: A batch read: the ranges of its partitions, found once
- `filters`: Filters of a batch read that narrow what is fetched: on partition, offset and
  timestamp
- `planning`: What one batch reads, and how it is dealt out to tasks
- `verify`, `table`, `counting`, `logs`, `verdict`: `kgroup spark verify`: what Spark is asked about
  a table, the table as Spark reads it, what the numbers of buckets say, what a log hands out, and
  the verdict
- `coordination`: `kgroup spark coordination`: what groups did, as tables
- `audit`: `kgroup spark audit`: a fleet's verdict, from event logs of many groups

Spark runs these in three kinds of processes. A planner makes the readers and is gone. The reader
process lives as long as a query: there, and only there, the member lives (`member`). Tasks run in
workers of the executors (`reading`).
"""
