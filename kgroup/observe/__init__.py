"""What a person or another program can see of a running consumer.

Decides: where events, metrics and traces go.
Never: decides anything for the consumer.
"""
