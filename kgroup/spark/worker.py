"""A worker's connections: one consumer for all tasks with the same options.

Decides: when a consumer is kept, and when another is made; a forked child begins with nothing.
Never: joins a group.
"""

import json
import os
from collections.abc import Mapping
from functools import lru_cache

from kgroup.config import ConsumerConfig
from kgroup.spark.connecting import revealed, worker_config
from kgroup.spark.options import SourceOptions
from kgroup.sync import Consumer


def worker_consumer(options: SourceOptions) -> Consumer[bytes | None, bytes | None]:
    """Return this process's consumer for these options, entered; it is in no group.

    Raises:
        ConfigError, NoBrokerError: it cannot be made, or finds no broker.
    """
    return _worker(os.getpid()).consumer(worker_config(options))


def disconnect_worker() -> None:
    """End this process's consumer, if there is one. The next task makes another."""
    _worker(os.getpid()).close()


@lru_cache(maxsize=1)
def _worker(_process: int) -> "_Worker":
    """Return what this process keeps; a forked child has another id, and begins with nothing."""
    return _Worker()


class _Worker:
    """What a worker keeps between tasks: one consumer, of the options that were wanted last."""

    def __init__(self) -> None:
        self._kept: Consumer[bytes | None, bytes | None] | None = None
        self._options = ""

    def consumer(self, given: Mapping[str, object]) -> Consumer[bytes | None, bytes | None]:
        """Return the consumer of these options: the one that is kept, if it still works."""
        text = json.dumps(given, sort_keys=True)
        if self._kept is None or self._options != text or self._kept.failure is not None:
            self.close()
            made = Consumer[bytes | None, bytes | None](config=ConsumerConfig.of(revealed(given)))
            made.__enter__()  # it lives longer than the task
            self._kept, self._options = made, text
        return self._kept

    def close(self) -> None:
        """Disconnect."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.__exit__(None, None, None)
