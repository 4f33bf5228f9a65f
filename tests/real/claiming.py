"""Groups that coordinate by claims in a log, on real brokers: the log, and what stands in it.

Decides: that each test has a coordination topic of its own, and that what its log says is read by
another client than ours (librdkafka) and folded from its first record.
Never: writes into the log as kgroup would; `header_less` writes as the original library does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE
from confluent_kafka import Consumer as Librdkafka
from confluent_kafka import TopicPartition as LibrdkafkaPartition

from kgroup.journal import Delivered, Entry
from kgroup.marshal.messages import Kind
from kgroup.marshal.rules import Compat, Verdict, WorldRules
from kgroup.marshal.world import World
from kgroup.testing.kafka import RealKafka, create_topic, read_bounds
from kgroup.types import TopicPartition
from tests.real.ground import eventually, fresh
from tests.real.members import Group, Reader

INTERVAL = 2
"""Seconds that members announce, unless a test says otherwise."""

LEASE = 2.0 * INTERVAL
"""Seconds after the last heartbeat from which a partition is free."""

_STORED_IN = 10.0


@dataclass(frozen=True, slots=True)
class Stored:
    """One message as it stands in the log, and what it did.

    Args:
        offset: of the record.
        time: of the record, seconds; None without one.
        kind: of the message.
        verdict: what it did.
        client: client id of its sender.
        tp: the partition it is about.
        position: next offset to read that holds behind it.
    """

    offset: int
    time: float | None
    kind: Kind
    verdict: Verdict
    client: str
    tp: TopicPartition
    position: int | None


@dataclass(frozen=True, slots=True)
class ClaimLog:
    """A coordination topic.

    Args:
        kafka: the brokers.
        topic: its name.
        append_time: whether its timestamps are the brokers'.
    """

    kafka: RealKafka
    topic: str
    append_time: bool

    async def stored(self, group: str) -> list[Stored]:
        """Read what stands in it about the keys of a group, all of it."""
        return await anyio.to_thread.run_sync(partial(self._stored, group.encode()))

    async def accepted(self, group: str) -> list[str]:
        """Return the members whose claims were accepted, in order."""
        return [
            each.client
            for each in await self.stored(group)
            if each.kind is Kind.CLAIMING_PARTITION and each.verdict is Verdict.ACCEPTED
        ]

    def _stored(self, group: bytes) -> list[Stored]:
        found: list[Stored] = []
        for tp, (start, end) in read_bounds(self.kafka.bootstrap, [self.topic]).items():
            rules = WorldRules(self.append_time, complete=True, compat=Compat.AUTO)
            world = World(rules)
            for row in _records(self.kafka, tp, start, end):
                found += _of(world, row, group)
        return found


def _of(world: World, row: "_Row", group: bytes) -> Iterator[Stored]:
    offset, timestamp, value, headers = row
    verdict, message = world.apply(offset, timestamp, value, headers), world.message
    if message is None or not isinstance(verdict, Verdict) or message.group_id != group:
        return
    if message.topic.endswith(b"~members"):
        return
    key = next(key for key in world.keys if key[1:] == (message.topic, message.partition))
    position = world.keys[key].offset
    yield Stored(
        offset=offset,
        time=None if timestamp < 0 else timestamp / 1000,
        kind=message.kind,
        verdict=verdict,
        client=message.client_id.decode(),
        tp=TopicPartition(message.topic.decode(), message.partition),
        position=None if position < 0 else position,
    )


_Row = tuple[int, int, bytes | None, list[tuple[str, bytes | None]]]


def _records(kafka: RealKafka, tp: TopicPartition, start: int, end: int) -> Iterator[_Row]:
    """Read records [start, end) of a partition."""
    reader = Librdkafka({"bootstrap.servers": kafka.bootstrap, "group.id": "unused"})
    reader.assign([LibrdkafkaPartition(tp.topic, tp.partition, start)])
    position = start
    try:
        while position < end:
            message = reader.poll(_STORED_IN)
            assert message is not None, f"{tp}: no record at {position} of {end}"
            assert message.error() is None, message.error()
            kind, timestamp = message.timestamp()
            known = kind != TIMESTAMP_NOT_AVAILABLE
            headers, offset = [*(message.headers() or ())], message.offset()
            assert offset is not None
            yield offset, timestamp if known else -1, message.value(), headers
            position = offset + 1
    finally:
        reader.close()


async def lay_log(
    kafka: RealKafka,
    *,
    partitions: int = 1,
    append_time: bool = True,
    settings: Mapping[str, str] | None = None,
) -> ClaimLog:
    """Make a coordination topic.

    Args:
        kafka: the brokers.
        partitions: how many.
        append_time: whether its timestamps are the brokers'.
        settings: of the topic, beside that.
    """
    topic = fresh("claims")
    kind = "LogAppendTime" if append_time else "CreateTime"
    merged = {"message.timestamp.type": kind, **(settings or {})}
    make = partial(create_topic, kafka.bootstrap, topic, partitions, settings=merged)
    await anyio.to_thread.run_sync(make)
    return ClaimLog(kafka, topic, append_time)


def claiming(log: ClaimLog, **more: Any) -> dict[str, Any]:
    """Return the options of members that claim.

    Args:
        log: where.
        more: further options; they win.
    """
    return {
        "backend": "marshal",
        "coordination_topic": log.topic,
        "marshal_heartbeat_interval": INTERVAL,
        **more,
    }


async def all_owned(group: Group, *, timeout: float = 20.0) -> float:
    """Wait until the members have all partitions, each one of them; return the seconds it took."""

    def is_so() -> bool:
        owned = [tp for member in group.members for tp in member.owned]
        return sorted(owned) == sorted(group.ground.all_partitions)

    return await eventually(is_so, "every partition has one owner", timeout=timeout)


def delivered(entries: list[Entry]) -> list[Delivered]:
    """Return the deliveries among entries of an event log."""
    return [entry.event for entry in entries if isinstance(entry.event, Delivered)]


def read_by(member: Reader) -> list[int]:
    """Return the offsets that a member read, in order; for tests of one partition."""
    return [offset for _, offset in member.seen]
