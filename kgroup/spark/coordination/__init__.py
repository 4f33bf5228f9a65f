"""What groups did, as tables: `__consumer_offsets` and the log of Marshal's claims, read.

- `declared`: The tables and their columns, declared once
- `schema`: What a table is, and how Spark and Arrow are told of it
- `silver`: Records of both logs to rows, one by one in the order of a log
- `columns`: The same for batches of records, plain commits a column at a time
- `holds`: Periods of ownership, and the gaps between them
- `ownership`: Who had which partition, and what each rebalance changed
- `lag`: How far groups were behind: lag, rewinds, and the status by Burrow's rules
- `claims`: The same for Marshal groups, by the rules of `kgroup.marshal`
- `tables`: Each table as a function from data frames to a data frame, for jobs of your own
- `asking`: What brokers are asked: where logs begin and end
- `store`: The folder the tables lie in, and how far they are
- `planned`: What a batch reads
- `kept`: Tables of a folder without a Spark: the rows of one group
- `report`: What happened to one group in a span of time
- `page`: A report as one page of HTML that needs nothing besides itself
- `beating`: What is told of claims while their log is read
- `watching`: What is told of groups while their logs are read
- `gilding`: When gold is made, and of what
- `alarms`: Live alarms, a streaming query over the tables
- `job`: `kgroup spark coordination`: batch by batch from the logs to the tables

Bronze is what the logs hold. Silver says the same in columns and only grows. Gold is made anew for
the log partitions that changed; a group lies in one. What decides here is pure; Spark moves rows.
"""
