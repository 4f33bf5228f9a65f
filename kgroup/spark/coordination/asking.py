"""What brokers are asked for the tables: where logs begin and end.

Decides: that a log that is not there is left out, and that a right that is missing is named.
Never: reads a record.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, KGroupError, UnauthorizedError
from kgroup.net.cluster import Cluster
from kgroup.spark.coordination.schema import Row
from kgroup.spark.counting import Span
from kgroup.spark.logs import bounds_of
from kgroup.types import IsolationLevel, TopicPartition


class Brokers(Protocol):
    """Who is asked."""

    def logs(self) -> Mapping[TopicPartition, Span]:
        """Return where the coordination logs begin and end, as read_committed sees them."""
        ...

    def ends(self, topics: Collection[str], /) -> list[Row]:
        """Return rows of `log_end` for topics; those that are gone have none."""
        ...


class RightError(KGroupError):
    """A coordination log may not be read by this client.

    Args:
        reason: what was refused.
        topics: the logs.
    """

    def __init__(self, reason: str, topics: Iterable[str]) -> None:
        names = ", ".join(sorted(topics))
        super().__init__(f"{reason}; it takes the right to describe and to read {names}")


async def logs(
    cluster: Cluster, topics: Iterable[str], *, timeout: float
) -> dict[TopicPartition, Span]:
    """Return where coordination logs begin and end; see `Brokers`.

    Args:
        cluster: running.
        topics: names of the logs.
        timeout: seconds for each question.

    Raises:
        RightError: one may not be read.
        BrokerError, TimeoutError: refused, or no answer in time.
    """
    found: dict[TopicPartition, Span] = {}
    for topic in topics:
        try:
            bounds = await bounds_of(
                cluster, topic, isolation=IsolationLevel.READ_COMMITTED, timeout=timeout
            )
        except UnauthorizedError as error:
            raise RightError(str(error), [topic]) from error
        except BrokerError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            continue
        found |= {TopicPartition(topic, number): span for number, span in bounds.items()}
    return found


async def ends(
    cluster: Cluster,
    topics: Iterable[str],
    *,
    timeout: float,
    clock: Callable[[], float] = time.time,
) -> list[Row]:
    """Return rows of `log_end`; a topic of which nothing is known now has none.

    Args:
        cluster: running.
        topics: names.
        timeout: seconds for each question.
        clock: seconds since the epoch.
    """
    found: list[Row] = []
    for topic in sorted(topics):
        try:
            bounds = await bounds_of(
                cluster, topic, isolation=IsolationLevel.READ_UNCOMMITTED, timeout=timeout
            )
        except (BrokerError, TimeoutError):
            continue
        now = int(clock() * 1000)
        found += [
            {"topic": topic, "partition": number, "ts": now, "low": low, "high": high}
            for number, (low, high) in bounds.items()
        ]
    return found
