"""What a person or another program can see of a running consumer.

Decides: where events, metrics and traces go.
Never: decides anything for the consumer.

- `journal_file`: The event log as a file
- `vitals`: How a consumer is doing at one moment, in numbers
- `stalls`: What has come to a standstill
- `health`: Whether a process must be replaced, and whether it is at work
- `health_server`: Says so over HTTP, from a thread of its own
"""
