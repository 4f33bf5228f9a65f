"""Fetch sessions of one broker: what a consumer need not say again (KIP-227).

Decides: which partitions belong to a session and in which order they are read, what changed since
it was last sent, and which session must make room when all slots are taken.
Never: reads a log.

A session is made by the answer to a full fetch, in the order of that answer. A partition that gave
records goes to the end, so that the others have their turn before it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field

from kgroup.codes import ErrorCode
from kgroup.testing.broker.context import Context
from kgroup.testing.broker.fetching.wanted import NameOf, Place, Wanted
from kgroup.values import dataclass
from kgroup.wire.messages import PartitionData

INITIAL_EPOCH = 0
"""Session epoch that asks for a new session."""
FINAL_EPOCH = -1
"""Session epoch that asks for none; a session that is named with it ends."""

_EVICTABLE_AFTER = 120.0
_LARGEST_EPOCH = (1 << 31) - 1


def next_epoch(epoch: int) -> int:
    """Return the epoch that a request with this one must be followed by."""
    if epoch < INITIAL_EPOCH:
        return FINAL_EPOCH
    return 1 if epoch == _LARGEST_EPOCH else epoch + 1


@dataclass(slots=True)
class Told:
    """A partition of a session.

    Args:
        wanted: as it was asked for last.
        high_watermark: as it was last sent; -1 before, and after an error.
        log_start: the same.
    """

    wanted: Wanted
    high_watermark: int = -1
    log_start: int = -1

    def learn(self, data: PartitionData) -> bool:
        """Take note of what a broker has to say, and return whether it must be said."""
        changed = (
            self.high_watermark != data.high_watermark or self.log_start != data.log_start_offset
        )
        failed = data.error_code != ErrorCode.NONE
        self.high_watermark = -1 if failed else data.high_watermark
        self.log_start = data.log_start_offset
        named = data.preferred_read_replica >= 0 or data.diverging_epoch.epoch >= 0
        return changed or failed or named or bool(data.records)


@dataclass(slots=True)
class Session:
    """One session.

    Args:
        session_id: positive.
        by_id: whether its topics are named by ids.
        partitions: what is read, in this order.
        created_at: seconds.
        used_at: seconds.
        epoch: that the next request must carry.
        ripe: it was used two minutes after it was made, so larger ones may take its place.
    """

    session_id: int
    by_id: bool
    partitions: dict[Place, Told]
    created_at: float
    used_at: float
    epoch: int = 1
    ripe: bool = False

    def update(self, wanted: Mapping[Place, Wanted], forgotten: Iterable[Place]) -> None:
        """Take what a request adds, changes and removes."""
        for place, one in wanted.items():
            kept = self.partitions.get(place)
            if kept is None:
                self.partitions[place] = Told(one)
            else:
                known = kept.wanted.name if kept.wanted.name is not None else one.name
                kept.wanted = Wanted(known, one.topic_id, one.row)
        for place in forgotten:
            self.partitions.pop(place, None)

    def wanted(self, name_of: NameOf) -> dict[Place, Wanted]:
        """Return all that is asked for; ids that had no name may have one by now."""
        for kept in self.partitions.values():
            one = kept.wanted
            if one.name is None:
                kept.wanted = Wanted(name_of(one.topic_id), one.topic_id, one.row)
        return {place: kept.wanted for place, kept in self.partitions.items()}

    def pick(self, read: Mapping[Place, PartitionData]) -> dict[Place, PartitionData]:
        """Return the part of a read that the answer holds."""
        picked = {}
        for place, data in read.items():
            kept = self.partitions[place]
            if not kept.learn(data):
                continue
            picked[place] = data
            if data.records:
                self.partitions[place] = self.partitions.pop(place)
        return picked


@dataclass(slots=True)
class SessionCache:
    """The sessions of one broker.

    Args:
        context: clock, ids, and how many slots there are.
        sessions: by id.
    """

    context: Context
    sessions: dict[int, Session] = field(default_factory=dict)

    def get(self, session_id: int) -> Session | None:
        """Return a session that lives."""
        return self.sessions.get(session_id)

    def end(self, session_id: int) -> None:
        """End a session, if it lives."""
        self.sessions.pop(session_id, None)

    def touch(self, session: Session) -> None:
        """Note that a session is used."""
        session.used_at = self.context.agenda.now
        session.ripe = session.used_at - session.created_at > _EVICTABLE_AFTER

    def begin(self, partitions: dict[Place, Told], *, by_id: bool) -> int:
        """Make a session; return its id, 0 when there is no slot for it."""
        slots = self.context.settings.fetch_session_slots
        if len(self.sessions) >= slots and not self._make_room(len(partitions)):
            return 0
        session_id = self.context.mint.session_id()
        while session_id in self.sessions:
            session_id = self.context.mint.session_id()
        now = self.context.agenda.now
        self.sessions[session_id] = Session(session_id, by_id, partitions, now, now)
        return session_id

    def _make_room(self, size: int) -> bool:
        """End the session unused for longest, or else the smallest ripe one that is smaller."""
        living = self.sessions.values()
        oldest = min(living, key=lambda one: (one.used_at, one.session_id), default=None)
        if oldest is None:
            return False
        if self.context.agenda.now - oldest.used_at > _EVICTABLE_AFTER:
            self.end(oldest.session_id)
            return True
        ripe = [one for one in self.sessions.values() if one.ripe]
        smallest = min(ripe, key=lambda one: (len(one.partitions), one.session_id), default=None)
        if smallest is None or size <= len(smallest.partitions):
            return False
        self.end(smallest.session_id)
        return True
