"""The IO shell: sockets, connections, what is known of the cluster. Never: group decisions.

- `admin`: What is asked of a cluster beside consuming: topics and groups
- `cluster`: The cluster as one client sees it: metadata kept fresh, and requests routed to
  brokers
- `connection`: One socket to one broker: requests in flight, answered in order
- `coordinator`: Where a group's coordinator is: the question, and how its answer reads
- `group_description`: What groups there are, and what their coordinators say about each
- `insist`: Repeats a request until it works, is refused, or the time is up
- `layouts`: One request, two layouts: what a newer version moved, moved back for an older broker
- `line`: The requests of one connection: waiting to be written, and in flight
- `log_offsets`: Asks the leaders of partitions where their logs begin and end, and what was
  written when
- `log_places`: Places in logs as people name them, and the offsets they stand for
- `metadata`: What is known of the cluster, and how an answer changes it
- `pool`: All connections of one client: one per endpoint and lane, made when first needed
- `ports`: Where time, chance and the network enter kgroup: the ports that tests replace
- `produce_fate`: What an answer to Produce says about the batch
- `producer`: The internal producer: idempotent, one batch in flight per partition
- `race`: Asks one broker after the other until one answers
- `refresh`: When metadata is asked again
- `sasl`: SASL: proves to a broker who we are, before anything else is asked on a connection
- `sasl_scram`: SCRAM: proves that both sides know a password, and tells it to nobody (RFC 5802,
  7677)
- `security`: How a connection is secured: what the network side is told of TLS and SASL
- `settings`: What the network side is told once
- `tls`: TLS: the connection below the protocol, encrypted, with a broker that proved its name
- `trace`: Where connections say what they do: one small port, so that journal and metrics can
  hook on
- `verdict`: What an error code of an answer asks of whoever sent the request
- `versions`: Which version of an API is spoken on a connection, and which of its answers ask for
  silence
- `whom_to_ask`: Whom a question goes to that any broker can answer
"""
