"""Places in logs as people name them, and the offsets they stand for.

Decides: that every place lies within its log: what is named before its beginning or behind its
end is that end.
Never: moves anybody's position.
KIPs: 79 (by timestamp), 98 (under read_committed a log ends at its last stable offset).
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias, assert_never

import anyio

from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.log_offsets import ListedOffset, OffsetSpec, list_offsets
from kgroup.types import IsolationLevel, TopicPartition
from kgroup.values import dataclass


@dataclass(frozen=True, slots=True)
class Offset:
    """An offset, the same in every partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class FromEnd:
    """So many offsets before the end of each partition; marks of transactions count too."""

    count: int


@dataclass(frozen=True, slots=True)
class Time:
    """The first record at or after a time, milliseconds since the epoch; without one the end."""

    timestamp: int


Place: TypeAlias = OffsetSpec | Offset | FromEnd | Time


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where one log begins and ends.

    Args:
        begin: first offset it holds, None when not known.
        end: offset of its next record, None when not known.
        error: why something is not known, None when all is.
    """

    begin: int | None = None
    end: int | None = None
    error: Exception | None = None


async def log_bounds(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    view: ClusterView | None = None,
    timeout: float,
) -> dict[TopicPartition, Bounds]:
    """Return where logs begin and end; a partition that cannot be asked says why.

    Args:
        cluster: running.
        partitions: those whose places are asked for.
        isolation: READ_COMMITTED ends a log at its last stable offset.
        view: what the caller knows of the leaders, of topics that the cluster does not watch.
        timeout: seconds for all of them together.
    """
    found: dict[OffsetSpec, dict[TopicPartition, ListedOffset | None]] = {}
    errors: dict[TopicPartition, Exception] = {}

    async def ask(spec: OffsetSpec) -> None:
        wanted = dict.fromkeys(partitions, spec)
        listed = await list_offsets(
            cluster, wanted, isolation=isolation, view=view, timeout=timeout
        )
        found[spec] = listed.offsets
        errors.update(listed.errors)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask, OffsetSpec.EARLIEST)
        tasks.start_soon(ask, OffsetSpec.LATEST)
    begins, ends = found[OffsetSpec.EARLIEST], found[OffsetSpec.LATEST]
    return {
        tp: Bounds(_number(begins.get(tp)), _number(ends.get(tp)), errors.get(tp))
        for tp in partitions
    }


def _number(listed: ListedOffset | None) -> int | None:
    return None if listed is None else listed.offset


async def find_places(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    place: Place,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout: float,
) -> dict[TopicPartition, int]:
    """Return the offset a place stands for in each partition.

    Raises:
        BrokerError, TimeoutError: one partition cannot be asked.
    """
    bounds = await log_bounds(cluster, partitions, isolation=isolation, timeout=timeout)
    written: Mapping[TopicPartition, ListedOffset | None] = {}
    if isinstance(place, Time):
        wanted = dict.fromkeys(partitions, max(place.timestamp, 0))
        listed = await list_offsets(cluster, wanted, isolation=isolation, timeout=timeout)
        written = listed.all()
    return {tp: _place(place, *_ends(tp, bounds[tp]), written.get(tp)) for tp in bounds}


def _ends(tp: TopicPartition, bounds: Bounds) -> tuple[int, int]:
    if bounds.error is not None:
        raise bounds.error
    if bounds.begin is None or bounds.end is None:
        raise TimeoutError(f"{tp}: its leader did not say where the log begins and ends")
    return bounds.begin, bounds.end


def _place(place: Place, begin: int, end: int, written: ListedOffset | None) -> int:
    match place:
        case Offset(offset):
            named = offset
        case FromEnd(count):
            named = end - count
        case Time():
            named = end if written is None else written.offset
        case OffsetSpec.EARLIEST:
            named = begin
        case OffsetSpec.LATEST | OffsetSpec.MAX_TIMESTAMP:
            named = end
        case _:
            assert_never(place)
    return min(max(named, begin), end)
