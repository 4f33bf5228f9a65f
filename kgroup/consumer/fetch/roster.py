"""Which partitions are wanted of which broker, kept by looking at what changed.

Decides: where each partition is fetched from: its leader, or the replica the leader named, until
the naming is too old, the replica is gone, or it fails. Which partitions rest: those that are
paused, full, not positioned, not validated, put off or in error. How much of each may come.
Never: looks at a partition of which nothing has changed: not while others are read, that is.
A partition changes by its fields (`Changes`), its buffer, its time, and by metadata; when the
number of claims changes, so does everybody's share.
KIPs: 227, 320, 392 (replicas close by), 516 (topic ids).

What is asked of a broker stays as it is while a Fetch is on its way to it; what has changed
meanwhile is looked at when that is over.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.config import FetchSettings
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned, OwnedPartitions
from kgroup.consumer.fetch.fetch_answers import Asked, Weights
from kgroup.machine.fetch_session import FetchSession, Wanted
from kgroup.net.cluster import Cluster
from kgroup.net.metadata import EMPTY_VIEW
from kgroup.offsets.positions import PositionState
from kgroup.wire.messages import FetchPartition
from kgroup.wire.vocabulary import ZERO_UUID

_LONGEST_WAIT: Final = 5.0
"""Longest pause between two looks at a partition without a leader."""
_MIN_SHARE: Final = 16 * 1024
_AT_LEAST: Final = 1
"""A broker sends the first batch of the first partition that has one, however large it is."""


class Roster:
    """What is wanted of every broker.

    Args:
        settings: sizes and patience.
        cluster: metadata; not owned.
        owned: the claims.
        notifiers: fired when a position is to be validated.
        weights: what records weigh.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        owned: OwnedPartitions,
        notifiers: Notifiers,
        weights: Weights,
    ) -> None:
        self.sessions: defaultdict[int, FetchSession[Asked]] = defaultdict(FetchSession)
        self._settings = settings
        self._cluster = cluster
        self._owned = owned
        self._notifiers = notifiers
        self._weights = weights
        self._places: dict[Owned, int] = {}
        self._crowded: set[int] = set()
        self._buffering: dict[Owned, None] = {}
        self._asking: dict[int, dict[Owned, None]] = {}
        """Brokers a Fetch is on its way to, and what is to be looked at when it is over."""
        self._alarms = _Alarms()
        self._seen = EMPTY_VIEW
        self._share = (0, _MIN_SHARE)

    # -- looking ---------------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Look at every claim of which something has changed."""
        due: Iterable[Owned] = self._due(now)
        self._crowded.clear()
        while due:
            for owned in due:
                self._place(owned, now)
            due = self._owned.changes.take()

    def _due(self, now: float) -> dict[Owned, None]:
        touched = self._owned.changes.take()
        view, count = self._cluster.view, len(self._owned)
        if view is not self._seen or count != self._share[0]:
            self._seen = view
            share = self._settings.prefetch_max_bytes // max(count, 1)
            self._share = (count, max(share, _MIN_SHARE))
            touched.update(dict.fromkeys(self._owned))
        touched.update(self._buffering)
        touched.update(dict.fromkeys(self._alarms.due(now)))
        return touched

    def due_in(self, now: float, longest: float) -> float:
        """Return the seconds until something is to be looked at because its time has come."""
        first = self._alarms.first
        return longest if first is None else max(min(first - now, longest), 0.0)

    def _place(self, owned: Owned, now: float) -> None:
        if self._owned.of(owned.claim) is not owned:
            self._buffering.pop(owned, None)
            self._alarms.forget(owned)
            self._remove(owned)
            return
        if owned.chunks:
            self._buffering[owned] = None
        else:
            self._buffering.pop(owned, None)
        source = self._source(owned, now)
        if source in self._asking:
            if self._places.get(owned, source) != source:
                self._remove(owned)
            self._asking[source][owned] = None
        elif source is None or not self._is_fetched(owned, source, now):
            self._remove(owned)
        else:
            self._want(owned, source)

    def _source(self, owned: Owned, now: float) -> int | None:
        """Return the broker to fetch from; None while there is none, or nothing is fetched."""
        if owned.paused or owned.position.state is not PositionState.FETCHING:
            return None
        if owned.is_asked_out:
            return None
        view, replica = self._cluster.view, owned.replica
        if replica is not None:
            if now < replica.until and view.serves(owned.tp, replica.node_id):
                self._alarms.set(owned, replica.until)
                return replica.node_id
            owned.replica = None
        leader = view.leader(owned.tp)
        if leader is None:
            self._seek_leader(owned, now)
        return leader

    def _seek_leader(self, owned: Owned, now: float) -> None:
        if not owned.asks(now):
            if not owned.blocked:
                self._alarms.set(owned, owned.retry_at)
            return
        settings = self._settings
        why = "no broker that can be reached leads it"
        owned.put_off(now, settings.retry_backoff, _LONGEST_WAIT, why)
        known = self._cluster.view.partition(owned.tp)
        topic = self._cluster.view.topics.get(owned.tp.topic)
        waited_for = topic is not None and (topic.is_gone or topic.is_uncertain)
        # Metadata that has no leader is refreshed anyway (`RefreshPlan`).
        if not waited_for and (known is None or known.leader is not None):
            self._cluster.invalidate()

    def _is_fetched(self, owned: Owned, source: int, now: float) -> bool:
        if owned.chunks and owned.buffered >= self._share[1]:
            self._crowded.add(source)
            return False
        if owned.blocked:
            return False
        if now < owned.retry_at:
            self._alarms.set(owned, owned.retry_at)
            return False
        return self._is_good(owned)

    def _is_good(self, owned: Owned) -> bool:
        """Tell whether its leader is the one the position is good under; else it is validated."""
        owned.led_under(self._cluster.view.leader_epoch(owned.tp))
        if owned.position.state is PositionState.FETCHING:
            return owned.position.offset is not None
        self._notifiers.work.notify()
        return False

    # -- what is wanted --------------------------------------------------------------------

    def _remove(self, owned: Owned) -> None:
        place = self._places.pop(owned, None)
        if place is not None:
            owned.stands_alone()
            self.sessions[place].drop(owned.claim)

    def _want(self, owned: Owned, source: int) -> None:
        if self._places.get(owned, source) != source:
            self._remove(owned)
        self._places[owned] = source
        self.sessions[source].want(self._wanted(owned, source))

    def _wanted(self, owned: Owned, source: int) -> Wanted[Asked]:
        view, position = self._cluster.view, owned.position
        offset, epoch, read = position.offset, view.leader_epoch(owned.tp), position.leader_epoch
        assert offset is not None
        topic_id = view.topic_id(owned.tp.topic)
        follower = owned.replica is not None and owned.replica.node_id == source
        row = FetchPartition(
            partition=owned.tp.partition,
            current_leader_epoch=-1 if epoch is None else epoch,
            fetch_offset=offset,
            last_fetched_epoch=-1 if read is None else read,
            partition_max_bytes=self._most_bytes(owned, offset),
        )
        asked = Asked(owned, position.seek, offset, epoch, owned.topic_id, source, follower)
        return Wanted(owned.claim, topic_id or ZERO_UUID, row, asked, owned.turn)

    def _most_bytes(self, owned: Owned, offset: int) -> int:
        """Return how much may come: a share of the room, and little behind where reading ends."""
        room = max(self._share[1] - owned.buffered, _AT_LEAST)
        most = min(room, self._settings.partition_max_bytes)
        if owned.until is None:
            return most
        return min(most, self._weights.of(owned.tp, owned.until - offset))

    # -- fetching --------------------------------------------------------------------------

    def wanting(self) -> list[int]:
        """Return the brokers something is wanted of, and no Fetch is on its way to."""
        return [
            node_id
            for node_id, session in self.sessions.items()
            if session.wants and node_id not in self._asking
        ]

    def is_crowded(self, node_id: int) -> bool:
        """Tell whether partitions of a broker are left out because they are full."""
        return node_id in self._crowded

    def asking(self, node_id: int) -> None:
        """Leave what is wanted of a broker as it is, until `asked`."""
        self._asking.setdefault(node_id, {})

    def asked(self, node_id: int) -> None:
        """Have looked at what changed while a broker was asked."""
        self._owned.changes.touched.update(self._asking.pop(node_id, {}))

    def leave_replica(self, node_id: int) -> None:
        """Ask the leaders again: the replica they named does not answer."""
        for asked in self.sessions[node_id].questions:
            replica = asked.owned.replica
            if replica is not None and replica.node_id == node_id:
                asked.owned.replica = None


# -- alarms ----------------------------------------------------------------------------------------


class _Alarms:
    """Instants at which claims are to be looked at; of each the one that was set last."""

    __slots__ = ("_heap", "_set", "_turn")

    def __init__(self) -> None:
        self._set: dict[Owned, float] = {}
        self._heap: list[tuple[float, int, Owned]] = []
        self._turn = 0

    @property
    def first(self) -> float | None:
        """The next one, None without any."""
        self._tidy()
        return self._heap[0][0] if self._heap else None

    def set(self, owned: Owned, at: float) -> None:
        if self._set.get(owned) != at:
            self._turn += 1
            self._set[owned] = at
            heapq.heappush(self._heap, (at, self._turn, owned))

    def forget(self, owned: Owned) -> None:
        self._set.pop(owned, None)

    def due(self, now: float) -> Iterator[Owned]:
        """Yield those whose time has come, and forget their alarms."""
        while (first := self.first) is not None and first <= now:
            _, _, owned = heapq.heappop(self._heap)
            del self._set[owned]
            yield owned

    def _tidy(self) -> None:
        while self._heap and self._set.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
