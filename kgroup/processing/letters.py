"""Writes copies of records: to the end of their partition, or to the topic of dead letters.

Decides: which partition a copy goes to; that a copy counts as written only when the broker says
so; which other groups read a topic.
Never: uses the connections by which the consumer fetches: what waits for a slow write must not hold
up reading.

In its own topic a copy stays in its partition, and so behind the records of its key. In another
topic it has the same number, or, where that topic is narrower, the rest of the division.
"""

from collections.abc import Collection
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kgroup.admin.groups import ask_committed
from kgroup.codes import ApiKey, ErrorCode
from kgroup.config import ConsumerConfig
from kgroup.errors import KGroupError
from kgroup.net.cluster import Cluster
from kgroup.net.group_description import GroupDescription, list_groups
from kgroup.net.ports import Clock, system_ports
from kgroup.net.producer import Producer, ProducerSettings
from kgroup.net.verdict import refusal
from kgroup.types import TopicPartition
from kgroup.wire.records import NewRecord

_MOST_GROUPS: Final = 200
"""Groups that are asked for their offsets; a cluster with more is asked for members alone."""


class Letters:
    """Writes copies on behalf of one processor; `run` has the connections.

    Args:
        config: of the consumer: where the brokers are, and how they are spoken to.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self._config = config
        self._cluster: Cluster | None = None
        self._producer: Producer | None = None
        self._widths: dict[str, int] = {}
        self.wall: Clock = (config.ports or system_ports()).wall
        """Seconds since the epoch, as headers have them."""

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Have connections until cancelled.

        Raises:
            NoBrokerError: none can be reached.
        """
        ports = self._config.ports or system_ports()
        self._cluster = Cluster(self._config.net(), ports)
        self._producer = Producer(self._cluster, ProducerSettings())
        failure: KGroupError | None = None
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._cluster.run)
            try:
                await self._cluster.bootstrap(self._config.patience)
                task_status.started()
            except KGroupError as error:
                failure = error  # raised below, not in a group
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def write(
        self, tp: TopicPartition, topic: str | None, record: NewRecord, timeout: float
    ) -> None:
        """Write one copy, and wait until it is stored.

        Args:
            tp: where the record is from.
            topic: where to, None for the same partition.
            record: the copy.
            timeout: seconds for everything.

        Raises:
            KGroupError: it was refused, or there is no such topic.
            TimeoutError: it was not acknowledged in time; it may be stored.
        """
        assert self._producer is not None
        with anyio.fail_after(timeout):
            to = tp if topic is None else await self._place(tp, topic, timeout)
            delivered = await self._producer.deliver(to, [record], timeout=timeout)
        if delivered.error is not None:
            raise delivered.error

    async def _place(self, tp: TopicPartition, topic: str, timeout: float) -> TopicPartition:
        width = self._widths.get(topic)
        if width is None:
            width = await self._width(topic, timeout)
            self._widths[topic] = width
        return TopicPartition(topic, tp.partition % width)

    async def _width(self, topic: str, timeout: float) -> int:
        assert self._cluster is not None
        view = await self._cluster.look_up(frozenset({topic}), timeout=timeout)
        found = view.topics.get(topic)
        if found is None or found.error or not found.partitions:
            unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            code = found.error if found is not None and found.error else unknown
            raise refusal(ApiKey.METADATA, code, (topic,))
        return len(found.partitions)

    async def other_readers(self, topics: Collection[str]) -> list[str]:
        """Return the other groups that read some topics: by subscription, or by a commit.

        A group is not seen where this client may not describe it.

        Args:
            topics: names.

        Raises:
            KGroupError, TimeoutError: no broker could be asked.
        """
        assert self._cluster is not None
        timeout = self._config.fetching().request_timeout
        listing = await list_groups(self._cluster, timeout=timeout)
        others = [each for each in listing.groups if each.group_id != self._config.group_id]
        ask = len(others) <= _MOST_GROUPS
        return [
            group.group_id
            for group in others
            if _subscribes(group, topics) or (ask and await self._has_offsets(group, topics))
        ]

    async def _has_offsets(self, group: GroupDescription, topics: Collection[str]) -> bool:
        assert self._cluster is not None
        timeout = self._config.fetching().request_timeout
        try:
            committed = await ask_committed(self._cluster, group.group_id, timeout=timeout)
        except (KGroupError, TimeoutError):
            return False
        return any(tp.topic in topics for tp in committed.offsets)


def _subscribes(group: GroupDescription, topics: Collection[str]) -> bool:
    members = group.members or ()
    return any(not set(topics).isdisjoint(member.topics or ()) for member in members)
