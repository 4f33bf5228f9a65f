"""Where reading a coordination partition begins: so early that what went before cannot matter.

Decides: the first offset: an hour of log time before its end, or four heartbeat intervals; and one
record more, so that the log is known to have been quiet before the window, if it was.
Never: trusts this machine's clock where that would make the window shorter; looks at timestamps of
records where producers set them: those of the original library have none. There the times inside
the messages are looked at, further and further back.
KIPs: 79 (offsets by time), 734 (the latest time of a log).
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from kgroup.errors import DecodeError, KGroupError
from kgroup.marshal.messages import Reject, decode
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.net.log_offsets import ListedOffset, OffsetSpec, list_offsets
from kgroup.net.log_places import log_bounds
from kgroup.types import TopicPartition
from kgroup.values import dataclass
from kgroup.wire.records import iter_batches

Peek = Callable[[int], Awaitable[memoryview | bytes]]
"""Fetches some records from an offset on, as they are stored."""

_HOUR: Final = 3600.0
_MS: Final = 1000
_FIRST_STEP: Final = 512
_RECORDS: Final = 64
"""Messages looked at in one place: a single one may have been late, or lie."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where to begin, and what is known of the log.

    Args:
        offset: the first to read.
        end: where the log ended; reading has caught up behind it.
        complete: whether nothing that it ever held is missing before `offset`.
    """

    offset: int
    end: int
    complete: bool


def window_seconds(interval: float) -> float:
    """Return how much log time is read, for a heartbeat interval in seconds."""
    return max(4 * interval, _HOUR)


@dataclass(frozen=True, slots=True)
class LeaderOf:
    """The broker that is asked about one log.

    Args:
        cluster: running.
        tp: the coordination partition.
        view: what is known of its leader; asked for again when that was not it.
        timeout: seconds for each question.
    """

    cluster: Cluster
    tp: TopicPartition
    view: ClusterView
    timeout: float

    async def ends(self) -> tuple[int, int]:
        """Return where its log begins and ends.

        Raises:
            BrokerError: it refused.
            TimeoutError: it did not tell in time.
        """
        asked = [self.tp]
        found = await log_bounds(self.cluster, asked, view=self.view, timeout=self.timeout)
        bounds = found[self.tp]
        if bounds.error is not None:
            raise bounds.error
        if bounds.begin is None or bounds.end is None:
            limit = f"within {self.timeout:g} s"
            raise TimeoutError(f"{self.tp}: its leader did not say its ends {limit}")
        return bounds.begin, bounds.end

    async def place(self, wanted: OffsetSpec | int) -> ListedOffset | None:
        """Return a named place, or that of a time in milliseconds; None when nothing is there.

        Raises:
            BrokerError: it refused.
            TimeoutError: it did not tell in time.
        """
        asked = {self.tp: wanted}
        listed = await list_offsets(self.cluster, asked, view=self.view, timeout=self.timeout)
        return listed.all()[self.tp]


async def find_start(
    leader: LeaderOf, *, window: float | None, append_time: bool, peek: Peek
) -> Start:
    """Find where to begin.

    Args:
        leader: of the coordination partition.
        window: seconds of log time, None for all there is.
        append_time: whether timestamps are the broker's.
        peek: for logs whose timestamps say nothing.

    Raises:
        BrokerError: its leader refused.
        TimeoutError: its leader did not tell in time.
    """
    begin, end = await leader.ends()
    if window is None or begin >= end:
        found = begin
    elif append_time:
        found = await _by_append_time(leader, window, end)
    else:
        found = await _by_messages(leader.cluster, (begin, end), window, peek)
    offset = min(max(found - 1, begin), end)
    return Start(offset, end, complete=offset == 0)


async def _by_append_time(leader: LeaderOf, window: float, end: int) -> int:
    """Return the offset of the first record inside the window, the end without one."""
    now = round(leader.cluster.ports.wall() * _MS)
    latest = await _latest_time(leader)
    since = max(round(min(now, now if latest is None else latest) - window * _MS), 0)
    found = await leader.place(since)
    return end if found is None else found.offset


async def _latest_time(leader: LeaderOf) -> int | None:
    """Ask for the latest timestamp; a broker that is too old to tell leaves it to the clock."""
    try:
        found = await leader.place(OffsetSpec.MAX_TIMESTAMP)
    except (KGroupError, TimeoutError):
        return None
    return None if found is None else found.timestamp


async def _by_messages(cluster: Cluster, ends: tuple[int, int], window: float, peek: Peek) -> int:
    """Go back in steps that double, until messages are older than the window."""
    begin, end = ends
    since: float | None = None
    step = _FIRST_STEP
    while True:
        offset = max(end - step, begin)
        times = _times(await peek(offset), offset)
        if times and since is None:
            since = min(cluster.ports.wall(), max(times)) - window
        elif times and since is not None and max(times) <= since:
            return offset
        if offset == begin:
            return begin
        step *= 2


def _times(data: memoryview | bytes, offset: int) -> list[int]:
    """Return the times inside the first messages from an offset on, seconds since the epoch."""
    found: list[int] = []
    try:
        for value in _values(data, offset):
            message = decode(value)
            if not isinstance(message, Reject):
                found.append(message.time)
            if len(found) == _RECORDS:
                break
    except DecodeError:
        pass  # what is damaged is counted when it is read, not when it is peeked at
    return found


def _values(data: memoryview | bytes, offset: int) -> Iterable[bytes | None]:
    for batch in iter_batches(data):
        if not batch.is_control:
            columns = batch.columns()
            yield from columns.values(columns.index_of(offset))
