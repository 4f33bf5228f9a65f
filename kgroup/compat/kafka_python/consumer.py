"""A consumer with kafka-python's name, keys, calls, records and errors.

Decides: nothing beyond the order of making one. Its calls stand in three classes by subject.
Never: builds or imports kafka-python's own consumer.
"""

from typing import Any

from kgroup.compat.kafka_python.offsets import Offsets
from kgroup.compat.kafka_python.reading import Reading
from kgroup.compat.kafka_python.subscribing import Subscribing

__all__ = ["KafkaConsumer"]


class KafkaConsumer(Reading, Offsets, Subscribing):
    """Stands in for `kafka.KafkaConsumer` of kafka-python 3.

    One thread of its own keeps the membership alive and fetches. Calls may come from any thread;
    reads from one at a time. The rebalance listener, and callbacks of `commit_async`, run inside
    `poll`, iteration or `close`, in the thread that calls.

    Args:
        topics: to subscribe to; without a group_id every partition of them is read.
        configs: kafka-python's keys; see its documentation.

    Raises:
        KafkaConfigurationError: a key is not known, or a value cannot be used or honoured.
        KafkaTimeoutError: no broker was heard within `bootstrap_timeout_ms`.
    """

    def __init__(self, *topics: str, **configs: Any) -> None:  # noqa: ANN401 - as they come
        super().__init__(configs)
        if topics:
            try:
                self.subscribe(topics)
            except BaseException:
                self.close(autocommit=False)
                raise
