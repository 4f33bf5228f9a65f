"""`AIOKafkaConsumer`, made of a native consumer.

Decides: nothing: its calls stand in three classes by subject, which add nothing to each other.
Never: holds logic of its own.
"""

from kgroup.compat.aiokafka.offsets import Offsets
from kgroup.compat.aiokafka.reading import Reading
from kgroup.compat.aiokafka.subscribing import Subscribing

__all__ = ["AIOKafkaConsumer"]


class AIOKafkaConsumer(Reading, Offsets, Subscribing):
    """A consumer with the names, defaults, types and errors of aiokafka's.

        from kgroup.compat.aiokafka import AIOKafkaConsumer

        async with AIOKafkaConsumer("orders", group_id="billing") as consumer:
            async for record in consumer:
                ...

    Args:
        topics: to subscribe to; none to call `subscribe` or `assign` later.
        ports: kgroup's own: network, clocks and dice, None for the real ones; for tests.
        keywords: as aiokafka's constructor.

    Raises:
        TypeError: a keyword is not known, or has a value of another kind.
        ValueError: a value cannot be used.
        RuntimeError: no event loop runs, and none is given.
    """
