"""The life of a KafkaConsumer: what it is made of, entering, closing.

Decides: that it is entered when it is made, as the original dials when it is made; which release
`config["api_version"]` names; and what closing commits.
Never: holds logic of its own: `kgroup.sync.Consumer` does what is asked.
KIPs: 35 (versions), 345 (static members).
"""

import logging
import time
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Self

from kafka.protocol.broker_version_data import BrokerVersionData

from kgroup.compat.kafka_python.errors import translating
from kgroup.compat.kafka_python.keywords import DEFAULTS
from kgroup.compat.kafka_python.listeners import AdaptedListener, Reported
from kgroup.compat.kafka_python.options import read
from kgroup.compat.kafka_python.records import maker
from kgroup.errors import KGroupError
from kgroup.sync import Consumer
from kgroup.types import TopicPartition as OurPartition
from kgroup.values import dataclass

__all__ = ["Life", "Wish"]

log = logging.getLogger(__name__)

_Bytes = bytes | None


@dataclass(frozen=True, slots=True)
class Wish:
    """A subscription of a group that the next poll carries out.

    Args:
        topics: by name; empty with a pattern.
        pattern: empty with names.
        listener: hears of changes.
    """

    topics: tuple[str, ...]
    pattern: str
    listener: AdaptedListener


class Life:
    """What every group of calls stands on.

    Args:
        configs: kafka-python's keys.
    """

    DEFAULT_CONFIG: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({**DEFAULTS})

    def __init__(self, configs: dict[str, Any]) -> None:
        options = read(configs)
        self.config: dict[str, Any] = options.given
        """Every key and its value; a change has an effect only where kafka-python reads it late
        (`consumer_timeout_ms`, `max_poll_records`)."""
        self._eager = options.eager
        deserializers = self.config["key_deserializer"], self.config["value_deserializer"]
        self._make = maker(*deserializers)
        self._raw = deserializers == (None, None)
        self._consumer: Consumer[_Bytes, _Bytes] = Consumer(config=options.config)
        self._closed = False
        self._wish: Wish | None = None
        self._reported = Reported()
        self._records_consumed = self._bytes_consumed = 0
        with translating():
            self._consumer.__enter__()
            self.config["api_version"] = self._release()

    def _join(self) -> None:
        """Carry out what was subscribed since the last poll.

        As there: a consumer that never polls is no member, so no round waits for it.
        """
        wish, self._wish = self._wish, None
        if wish is not None:
            topics, pattern = wish.topics, wish.pattern or None
            with translating():
                self._consumer.subscribe(*topics, pattern=pattern, listener=wish.listener)

    def _assigned(self) -> frozenset[OurPartition]:
        """Return what is owned, of a group's only what a read has reported.

        As there: it does not change between two polls, save that what is lost is gone at once.
        """
        owned, asked = self._consumer.assignment(), self._consumer.subscription()
        alone = self.config["group_id"] is None or asked is None or asked.partitions is not None
        return owned if alone else owned & self._reported.partitions

    def _release(self) -> tuple[int, ...]:
        """Return the release that was given, or the one the broker's versions tell of."""
        given = self.config["api_version"]
        try:
            if given is None:
                found = BrokerVersionData(api_versions=self._consumer.api_versions())
            else:
                found = BrokerVersionData(given)
        except BaseException:
            self._consumer.close()
            raise
        release: tuple[int, ...] = found.broker_version
        return release

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close; what was delivered is not committed when the block ends by an exception."""
        self.close(autocommit=exc_type is None)

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:  # noqa: FBT001, FBT002 - kafka-python's signature
        """Leave the group, tell the listener, end the thread.

        Args:
            autocommit: whether, with `enable_auto_commit`, all that was delivered is committed;
                without it nothing is.
            timeout_ms: after which it returns whatever brokers do; None for `request_timeout_ms`.
        """
        if self._closed:
            return
        self._closed = True
        limit = (self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms) / 1000
        deadline = time.monotonic() + limit
        if autocommit and self.config["enable_auto_commit"] and self.config["group_id"] is not None:
            try:
                self._consumer.commit(timeout=limit / 2)
            except (KGroupError, TimeoutError) as error:
                log.warning("the commit at close failed: %r", error)
        self._consumer.close(timeout=max(deadline - time.monotonic(), 0.0), commit=autocommit)
        for name in ("key_deserializer", "value_deserializer"):
            end = getattr(self.config[name], "close", None)
            if end is not None:
                end()

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:  # noqa: FBT001, FBT002 - kafka-python's signature
        """Wait until a broker was heard: that is so since the consumer was made.

        Args:
            timeout_ms: only of a refresh; None for `request_timeout_ms`.
            refresh: whether all topics are asked for anew.
        """
        if refresh:
            with translating():
                self._consumer.topics(timeout=_seconds(timeout_ms))

    def bootstrap_connected(self) -> bool:
        """Tell whether a broker was heard and the consumer is not closed."""
        return not self._closed

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]] | None:  # noqa: FBT001, FBT002 - kafka-python's signature
        """Return some numbers by group and name; None when `metrics_enabled` is off.

        Args:
            raw: must be False: there are no objects behind the numbers.
        """
        if not self.config["metrics_enabled"]:
            return None
        if raw:
            raise NotImplementedError(
                "metrics(raw=True): only the numbers themselves are kept here"
            )
        prefix, consumer = self.config["metric_group_prefix"], self._consumer
        owned = self._assigned()
        lags = [lag for lag in (None if self._closed else consumer.lag(tp) for tp in owned) if lag]
        return {
            f"{prefix}-coordinator-metrics": {
                "assigned-partitions": float(len(owned)),
                "rebalance-total": float(consumer.rebalances),
            },
            f"{prefix}-fetch-manager-metrics": {
                "bytes-consumed-total": float(self._bytes_consumed),
                "records-consumed-total": float(self._records_consumed),
                "records-lag-max": float(max(lags, default=0)),
            },
        }


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
