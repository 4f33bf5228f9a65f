"""What brokers say of a topic, for a table to be compared with.

Decides: which offsets are asked of a log, and when it is read on rather than sought again; an
offset that a consumer of kgroup is not handed is handed to nobody.
Never: joins a group or commits; changes anything.
KIPs: 98 (what is seen of transactions depends on the isolation).
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Self

from kgroup.admin.groups import committed_offsets
from kgroup.config import ConsumerConfig
from kgroup.errors import OffsetOutOfRangeError
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.log_places import log_bounds
from kgroup.spark.counting import Sight, Span
from kgroup.sync import Consumer
from kgroup.types import IsolationLevel, TopicPartition

_NEAR: Final = 20_000
"""Offsets that are read and dropped rather than sought over."""
_AT_ONCE: Final = 50_000
"""Records of one read."""
_NAP: Final = 0.1
"""Seconds a read waits before it is looked whether the position has moved over what is unseen."""


async def bounds_of(
    cluster: Cluster, topic: str, *, isolation: IsolationLevel, timeout: float
) -> dict[int, Span]:
    """Return where the log of each partition begins and ends.

    Args:
        cluster: running.
        topic: its name.
        isolation: READ_COMMITTED ends a log at its last stable offset.
        timeout: seconds for each question.

    Raises:
        BrokerError: there is no such topic (the nearest name is told), or a partition refused.
        TimeoutError: no answer in time.
    """
    known = await describe_topics(cluster, (topic,), timeout=timeout)
    tps = [TopicPartition(topic, number) for number in sorted(known[topic].partitions)]
    found = await log_bounds(cluster, tps, isolation=isolation, timeout=timeout)
    spans = {}
    for tp, bounds in found.items():
        if bounds.error is not None:
            raise bounds.error
        if bounds.begin is None or bounds.end is None:
            raise TimeoutError(f"{tp}: its leader did not say where the log begins and ends")
        spans[tp.partition] = Span(bounds.begin, max(bounds.begin, bounds.end))
    return spans


async def positions_of(
    cluster: Cluster, group: str, topic: str, *, timeout: float
) -> dict[int, int]:
    """Return partition -> what a group has committed, without partitions it committed nothing of.

    Raises:
        BrokerError: refused.
        TimeoutError: no answer in time.
    """
    found = await committed_offsets(cluster, group, timeout=timeout)
    return {
        tp.partition: committed.offset
        for tp, committed in found.items()
        if tp.topic == topic and committed is not None
    }


class ReadLog:
    """The log of a topic, read where it is asked about. Use it in a `with` block.

    Nobody is asked before the first look.

    Args:
        topic: its name.
        config: of the consumer, without a group; its `isolation_level` says what is seen of
            transactions.
        tick: called now and then with how many offsets it has come past.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        topic: str,
        config: ConsumerConfig,
        tick: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._topic = topic
        own = {"auto_offset_reset": "none", "max_poll_records": _AT_ONCE}
        self._config = ConsumerConfig.of(own, config)
        self._tick = tick
        self._clock = clock
        self._consumer: Consumer[Any, Any] | None = None
        self._partition: _PartitionLog | None = None
        self._passed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def look(self, partition: int, span: Span) -> Iterator[Sight]:
        """Yield what the log hands out of some offsets; see `Log`.

        Raises:
            TimeoutError: nothing came for `request_timeout`.
            KGroupError: the log cannot be read.
        """
        tp = TopicPartition(self._topic, partition)
        if self._consumer is None:
            self._consumer = Consumer(config=self._config)
            self._consumer.__enter__()
        if self._partition is None or self._partition.tp != tp:
            patience = self._config.net().request_timeout
            self._partition = _PartitionLog(self._consumer, tp, patience, self._clock)
        yield from self._partition.look(span)
        self._passed += span.size
        self._tick(self._passed)


class _PartitionLog:
    """One partition's log, and how far it is read.

    Args:
        consumer: reads it; whatever it had assigned is given up.
        tp: the partition.
        patience: seconds in which something must come.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        consumer: Consumer[Any, Any],
        tp: TopicPartition,
        patience: float,
        clock: Callable[[], float],
    ) -> None:
        self.tp = tp
        self._consumer = consumer
        self._patience = patience
        self._clock = clock
        self._held = self._ask()
        self._seen: deque[Span] = deque()
        """What was handed out and not asked about yet."""
        self._read_to = -1
        """First offset of which is not known whether it is handed out; -1 before the first."""
        consumer.assign([tp])

    def _ask(self) -> Span:
        begins = self._consumer.beginning_offsets(self.tp)
        ends = self._consumer.end_offsets(self.tp)
        return Span(begins[self.tp], max(begins[self.tp], ends[self.tp]))

    def look(self, span: Span) -> Iterator[Sight]:
        inner = span.within(self._held)
        if not inner.size:
            yield Sight(span, held=False)
            return
        if span.first < inner.first:
            yield Sight(Span(span.first, inner.first), held=False)
        yield from self._within(inner)
        if inner.end < span.end:
            yield Sight(Span(inner.end, span.end), held=False)

    def _within(self, span: Span) -> Iterator[Sight]:
        if self._read_to < 0 or self._read_to + _NEAR < span.first:
            self._seek(span.first)
        while True:
            while self._seen and self._seen[0].first < span.end:
                found = self._seen.popleft()
                part = found.within(span)
                if part.size:
                    yield Sight(part, held=True)
                if found.end > span.end:
                    self._seen.appendleft(Span(span.end, found.end))
                    return
            if self._read_to >= span.end:
                return
            yield from self._read(span)

    def _seek(self, offset: int) -> None:
        self._consumer.seek(self.tp, offset)
        self._seen.clear()
        self._read_to = offset

    def _read(self, span: Span) -> Iterator[Sight]:
        """Read on; what the log has dropped meanwhile it cannot speak of."""
        deadline = self._clock() + self._patience
        while self._clock() < deadline:
            try:
                batch = self._consumer.getmany(self.tp, timeout=_NAP).get(self.tp)
                if batch is None:
                    position = self._consumer.position(self.tp)
            except OffsetOutOfRangeError:
                self._held = self._ask()
                if self._held.first <= self._read_to:
                    raise
                dropped = Span(max(self._read_to, span.first), min(self._held.first, span.end))
                if dropped.size:
                    yield Sight(dropped, held=False)
                self._seek(self._held.first)
                return
            if batch is not None:
                for segment in batch.columns():
                    offsets = segment.columns.offsets[segment.start : segment.stop]
                    self._seen.extend(_spans(offsets))
                self._read_to = batch.next_offset
                return
            if position > self._read_to:
                self._read_to = position
                return
        text = f"{self.tp}: nothing came from offset {self._read_to} for {self._patience:g} s"
        raise TimeoutError(text)


def _spans(offsets: Sequence[int]) -> Iterator[Span]:
    """Yield rising offsets as ranges."""
    if offsets[-1] - offsets[0] + 1 == len(offsets):
        yield Span(offsets[0], offsets[-1] + 1)
        return
    first = last = offsets[0]
    for offset in offsets[1:]:
        if offset != last + 1:
            yield Span(first, last + 1)
            first = offset
        last = offset
    yield Span(first, last + 1)
