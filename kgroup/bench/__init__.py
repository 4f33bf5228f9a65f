"""What a client costs, and what a rebalance costs, measured: the `kgroup bench` command.

Decides: what is measured, how it is proved right, and what may be said of it.
Never: reports the speed of what was wrong; calls anything faster that the runs do not show.

A *scenario* (TOML) says what is measured; it becomes *cells*, one for each client and way to read.
An *adapter* is a client in a process of its own, which speaks JSON lines (`clients`). A *contest*
has adapters take turns. A *result* is one JSON document; everything that is shown is made from it.

- `scenario`: What is measured, read from TOML; `scenarios` holds those that come with kgroup
- `taking`: A file of a scenario, taken apart
- `cells`: What is measured, as values
- `brokers`: Which broker coordinates a group, and how does it die and come back?
- `adapters`: Which clients there are, and what starts each?
- `clients`: The lines an adapter speaks, and the adapters in Python; `java` holds the one in Java
- `processes`: One process: its job, its lines, its CPU, its end
- `filling`: The topics, and what a reader must find in them
- `stream`: A steady stream of records, in a process of its own
- `contest`: The rounds; a cell that is wrong has no figures
- `groups`: One run of a group: it forms, a member joins, leaves or crashes, it forms again
- `leaving`: What such a run leaves: parts of its sample (pure)
- `asking`: What the brokers say is committed, held, and left behind
- `deliveries`: What was lost, repeated and late, and by whom (pure)
- `judging`: Whether a client did what it was asked to do (pure)
- `rounds`: How many rounds a group took and how often it committed, by its coordinator's word
- `histogram`: Times as HdrHistograms
- `figures`: From raw samples to figures
- `statistics`: Intervals, and whether two series differ (pure)
- `compare`: Two results, or two clients of one, next to each other
- `guard`: Whether kgroup has become slower than it was
- `result`: The results as JSON, and their schema
- `tables`: Results as tables
- `plots`: Results as pictures
- `page`: Results as a page of HTML
- `machine`: Interpreter, packages, processor, load
- `running`: A scenario from the first broker to the last file
"""
