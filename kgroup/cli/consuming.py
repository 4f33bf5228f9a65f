"""Reads topics for `kgroup consume`: where it begins, what is printed, and when it is over.

Decides: the ends of a run are offsets found before it begins, so that it ends however much is
written meanwhile. In a group `--from` is only about partitions without a commit, and what was
printed is done, no more.
Never: formats or writes a record itself.

A partition is over when the next offset to be handed out is at its end: behind the last record
there may be marks of transactions, which nobody sees.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from datetime import datetime
from typing import Any, Final

from kgroup.cli.printing import Lines, Output, joined
from kgroup.codes import ApiKey, ErrorCode
from kgroup.config import ConsumerConfig
from kgroup.consumer import Batch, Consumer
from kgroup.errors import ArgumentError, BrokerError, NotOwnedError
from kgroup.net.admin import describe_topics
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.log_places import FromEnd, Offset, Place, Time, find_places
from kgroup.net.ports import system_ports
from kgroup.types import OwnershipChange, TopicPartition
from kgroup.values import dataclass

_NAP: Final = 0.25
"""Seconds between two looks at whether it is over."""
_KNOWN: Final = 0.01
"""Seconds to wait for a position; one that is not known yet is asked for at the next look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be read.

    Args:
        topics: their names.
        partitions: only these of each topic, None for all, those to come too.
        start: where to begin; in a group only where nothing is committed, and None leaves that
            to `auto_offset_reset`.
        stop: where to end, None to go on until cancelled.
        max_records: most records, None for no bound.
        health_port: where supervisors ask for `/live` and `/ready`, None for nowhere.
    """

    topics: tuple[str, ...]
    partitions: frozenset[int] | None = None
    start: Place | None = OffsetSpec.LATEST
    stop: Place | None = None
    max_records: int | None = None
    health_port: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Where each partition begins and ends.

    Args:
        starts: partition -> first offset; empty where `auto_offset_reset` says it.
        stops: partition -> offset behind the last one; None to go on for ever.
    """

    starts: Mapping[TopicPartition, int]
    stops: Mapping[TopicPartition, int] | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies between the beginning and the end of any partition."""
        if self.stops is None or not self.starts:
            return False
        return all(begin >= self.stops[tp] for tp, begin in self.starts.items())


async def make_plan(
    cluster: Cluster, wanted: Wanted, config: ConsumerConfig, *, timeout: float
) -> Plan:
    """Find out where to begin and to end.

    Raises:
        BrokerError: there is no such topic (the error has the nearest name), or no such partition.
        TimeoutError: no answer in time.
    """
    known = await describe_topics(cluster, wanted.topics, timeout=timeout)
    found: list[TopicPartition] = []
    for name, topic in known.items():
        missing = (wanted.partitions or frozenset()) - topic.partitions.keys()
        if missing:
            text = f"{name} has partitions 0 to {len(topic.partitions) - 1}, not {min(missing)}"
            raise BrokerError(ApiKey.METADATA.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        numbers = topic.partitions if wanted.partitions is None else wanted.partitions
        found += [TopicPartition(name, number) for number in sorted(numbers)]
    isolation = config.fetching().isolation_level
    starts, stops = [
        None
        if place is None
        else await find_places(cluster, found, place, isolation=isolation, timeout=timeout)
        for place in (wanted.start, wanted.stop)
    ]
    return Plan(starts or {}, stops)


async def consume(
    cluster: Cluster,
    wanted: Wanted,
    config: ConsumerConfig,
    plan: Plan,
    lines: Lines,
    output: Output,
) -> int:
    """Read until it is over, and return how many records were printed.

    Args:
        cluster: tells of new partitions; running.
        wanted: what to read.
        config: of the consumer; with a group id it joins that group.
        plan: where partitions begin and end.
        lines: makes lines.
        output: takes them.

    Raises:
        BrokenPipeError: nobody reads the output any more.
        KGroupError: reading cannot go on.
    """
    arrival = _Arrival(plan.starts)
    run = _Run(wanted, plan, lines, output)
    if config.group_id is not None:
        async with (
            Consumer(*wanted.topics, config=config, listener=arrival) as consumer,
            _answering(consumer, wanted.health_port),
        ):
            await run.read(consumer, arrival)
        return run.printed
    cluster.watch(frozenset(wanted.topics))
    async with Consumer(config=config) as consumer, _answering(consumer, wanted.health_port):
        by_hand = _ByHand(cluster, consumer, wanted, plan)
        await run.read(consumer, by_hand)
    return run.printed


@asynccontextmanager
async def _answering(consumer: Consumer[Any, Any], port: int | None) -> AsyncIterator[None]:
    """Say on a port how the consumer is, for one block."""
    if port is None:
        yield
        return
    from kgroup.observe.health import Monitor  # noqa: PLC0415 - seldom
    from kgroup.observe.health_server import serving  # noqa: PLC0415 - seldom

    ports = consumer.config.ports or system_ports()
    async with Monitor(consumer, clock=ports.clock).running() as monitor:
        with serving(monitor, port):
            yield


class _Arrival:
    """A group's listener: partitions without a commit begin where `--from` says.

    Args:
        starts: partition -> first offset.
    """

    def __init__(self, starts: Mapping[TopicPartition, int]) -> None:
        self._starts = starts
        self.settled = False

    async def on_assigned(self, consumer: Consumer[Any, Any], change: OwnershipChange) -> None:
        added = [claim.tp for claim in change.added if claim.tp in self._starts]
        found = await consumer.committed(*added) if added else {}
        for tp in added:
            if found.get(tp) is None:
                consumer.seek(tp, self._starts[tp])
        self.settled = True

    def look(self) -> None:
        """Nothing to do: the group notices new partitions."""


class _ByHand:
    """Assigns all partitions, and those that come to be.

    Args:
        cluster: tells of them.
        consumer: entered, has assigned nothing.
        wanted: whether new ones are read.
        plan: where the known ones begin.
    """

    def __init__(
        self, cluster: Cluster, consumer: Consumer[Any, Any], wanted: Wanted, plan: Plan
    ) -> None:
        self._cluster = cluster
        self._consumer = consumer
        self._grows = wanted.partitions is None and plan.stops is None
        self._topics = wanted.topics
        self._assign(plan.starts)
        self.settled = True

    def look(self) -> None:
        """Take partitions that are new; everything in them was written meanwhile."""
        if not self._grows:
            return
        view = self._cluster.view
        known = self._consumer.assignment()
        new = {tp: 0 for name in self._topics for tp in view.partitions_of(name) if tp not in known}
        if new:
            self._assign(new)

    def _assign(self, starts: Mapping[TopicPartition, int]) -> None:
        self._consumer.assign([*self._consumer.assignment(), *starts])
        for tp, offset in starts.items():
            self._consumer.seek(tp, offset)


@dataclass(slots=True)
class _Run:
    """One run, and how far it is.

    Args:
        wanted: what to read.
        plan: where partitions end.
        lines: makes lines.
        output: takes them.
    """

    wanted: Wanted
    plan: Plan
    lines: Lines
    output: Output
    printed: int = 0
    over: set[TopicPartition] = field(default_factory=set)

    async def read(self, consumer: Consumer[Any, Any], source: _Arrival | _ByHand) -> None:
        """Read and print until it is over."""
        while not await self._is_over(consumer, settled=source.settled):
            limit = None if self.wanted.max_records is None else self._left()
            batches = await consumer.getmany(max_records=limit, timeout=_NAP)
            for tp, batch in batches.items():
                await self._print(consumer, tp, batch)
            self.output.tick()
            source.look()

    def _left(self) -> int:
        assert self.wanted.max_records is not None
        return self.wanted.max_records - self.printed

    async def _print(
        self, consumer: Consumer[Any, Any], tp: TopicPartition, batch: Batch[Any, Any]
    ) -> None:
        stop = self._stop(tp)
        records = [record for record in batch if stop is None or record.offset < stop]
        if records:
            await self.output.write(joined(self.lines, records), len(records))
            self.printed += len(records)
        if stop is None or batch.next_offset <= stop:
            batch.done()
            return
        # More was handed out than is wanted: only what lies before the end is done.
        batch.done(upto=stop)
        with suppress(NotOwnedError):
            consumer.seek(tp, stop)

    def _stop(self, tp: TopicPartition) -> int | None:
        # A partition that came to be after the plan was made has nothing before the end.
        return None if self.plan.stops is None else self.plan.stops.get(tp, 0)

    async def _is_over(self, consumer: Consumer[Any, Any], *, settled: bool) -> bool:
        if self.wanted.max_records is not None and not self._left():
            return True
        if self.plan.stops is None or not settled:
            return False
        owned = consumer.assignment()
        self.over &= owned
        for tp in owned - self.over:
            with suppress(TimeoutError, NotOwnedError):
                if await consumer.position(tp, timeout=_KNOWN) >= (self._stop(tp) or 0):
                    consumer.pause(tp)
                    self.over.add(tp)
        return self.over >= owned


# -- places ----------------------------------------------------------------------------------------
#
# Places in logs as they are typed: `--from` and `--until`.
#
# Decides: the forms, that a time lies in the past, and which of two places lies before the other
# in whatever log.
# Never: asks a broker; `kgroup.net.log_places` does.


PLACE_FORMS: Final = (
    "earliest, latest, an offset, -N (offsets before the end), a time (2026-08-01T12:00Z) or an "
    "age (15m)"
)

_EXPECTED: Final = (
    "earliest, latest, an offset such as 42, -N for N offsets before the end, a time in the past "
    "such as 2026-08-01T12:00 (local) or 2026-08-01T12:00Z, or an age such as 90s, 15m, 2h, 7d"
)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+")
_AGE_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_MOST: Final = 2**63 - 1


def read_place(option: str, text: str, *, now: float) -> Place:
    """Return what a text means.

    Args:
        option: its name, for the error.
        text: as typed.
        now: seconds since the epoch.

    Raises:
        ArgumentError: it has none of the forms, or means a time to come.
    """
    typed = text.strip()
    place = _named(typed.lower()) or _counted(typed) or _timed(typed, now)
    if place is None or (isinstance(place, Time) and not 0 <= place.timestamp <= now * 1000):
        raise ArgumentError(option, text, _EXPECTED)
    return place


def lies_before(place: Place, other: Place) -> bool:
    """Tell whether a place lies before another in every log, as far as the words alone say it."""
    match place, other:
        case Offset(offset), Offset(of_other):
            return offset < of_other
        case Time(timestamp), Time(of_other):
            return timestamp < of_other
        case FromEnd(count), FromEnd(of_other):
            return count > of_other
        case _:
            return False


def _named(typed: str) -> Place | None:
    return {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}.get(typed)


def _counted(typed: str) -> Place | None:
    digits = typed.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or int(digits) > _MOST:
        return None
    return FromEnd(int(digits)) if typed.startswith("-") else Offset(int(digits))


def _timed(typed: str, now: float) -> Place | None:
    if _AGE.fullmatch(typed):
        age = sum(float(count) * _SECONDS[unit] for count, unit in _AGE_PART.findall(typed))
        return Time(round((now - age) * 1000))
    try:
        return Time(round(datetime.fromisoformat(typed).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return None
