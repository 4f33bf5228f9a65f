"""The IO shell: sockets, connections, what is known of the cluster. Never: group decisions.

- `admin`: Requests to a cluster beside consuming: topics and groups
- `broker_order`: Which broker is asked first, when any of them can answer
- `cluster`: The cluster as one client sees it: metadata kept fresh, and requests routed to
  brokers
- `connection`: One socket to one broker: requests in flight, answered in order
- `coordinator`: Where a group's coordinator is: the question, and how its answer reads
- `dialling`: One connection to one broker is made, plain or by TLS, in bounded time
- `direct`: A TCP connection on asyncio without a task switch per write and per read
- `group_description`: What groups there are, and what their coordinators say about each
- `layouts`: One request, two layouts: what a newer version moved, moved back for an older broker
- `line`: The requests of one connection: waiting to be written, and in flight
- `log_offsets`: Asks the leaders of partitions where their logs begin and end, and what was
  written when
- `log_places`: Places in logs as people name them, and the offsets they stand for
- `metadata`: What is known of the cluster, and how an answer changes it
- `outages`: Which addresses are out of reach, and what of that is news
- `pool`: All connections of one client: one per endpoint and lane, made when first needed
- `ports`: Where time, chance and the network enter kgroup: the ports that tests replace
- `produce_fate`: What an answer to Produce says about the batch
- `producer`: The internal producer: idempotent, one batch in flight per partition
- `race`: Asks one broker after the other until one answers
- `refresh`: When metadata is asked again
- `retrying`: Repeats a request until it works, is refused, or the time is up
- `sasl`: SASL: proves this client's identity to a broker, before anything else on a connection
- `sasl_scram`: SCRAM: proves that both sides know a password, and sends it to no one (RFC
  5802, 7677)
- `security`: How a connection is secured: the settings of TLS and SASL
- `settings`: The settings of the network side
- `tls`: TLS: the connection below the protocol, encrypted, with a broker that proved its name
- `trace`: Where connections say what they do: one small port, so that journal and metrics can
  hook on
- `verdict`: What a sender does after an error code in an answer
- `versions`: Which version of an API is spoken on a connection, and which of its answers ask for
  silence
"""
