"""The claims of a consumer, and what is kept about each; the bound of uncommitted records.

Decides: that everything kept about a partition belongs to its claim and ends with it: position,
buffered answers, pause, error. Whether a partition is at `max_uncommitted`, how much of it may be
handed out at once, and that records then done are committed without waiting for the interval of
auto-commit.
Never: awaits; owns two claims of one partition. The bound never drops buffered records, stops
fetching, counts (the ledger does) or changes what the application has paused.

1. Records are handed out until `max_uncommitted` is reached. 2. Reads skip the partition, which is
journalled; other partitions go on. An error behind those records is raised all the same. 3. A
commit is answered that covers some of them. 4. Readers look again, and the partition goes on.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Final, Self

from kgroup.consumer.buffer.chunk import Chunk
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.errors import NotOwnedError
from kgroup.journal import PauseCause, Paused, PositionMove, Resumed, Sink
from kgroup.machine.backoff import Backoff
from kgroup.net.ports import Notifier
from kgroup.offsets.ledger import Ledger
from kgroup.offsets.positions import EpochChanged, Position, PositionState
from kgroup.types import Claim, TopicPartition
from kgroup.values import dataclass
from kgroup.wire.messages import PartitionData


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica that its partition's leader named to fetch from (KIP-392).

    Args:
        node_id: the broker.
        until: instant from which the leader is asked again.
    """

    node_id: int
    until: float


@dataclass(slots=True)
class Heard:
    """When a broker has answered last about everything its fetch session holds (KIP-227).

    Args:
        at: seconds since the epoch.
    """

    at: float


@dataclass(frozen=True, slots=True)
class Changes:
    """Claims that those who ask brokers must look at, so that nobody looks at all of them.

    Args:
        touched: something changed on which it hangs whether they are fetched, and how.
        unsettled: those without a position that is good; in order.
    """

    touched: "dict[Owned, None]" = field(default_factory=dict)
    unsettled: "dict[Owned, None]" = field(default_factory=dict)

    def take(self) -> "dict[Owned, None]":
        """Return what was touched since the latest call."""
        touched = self.touched.copy()
        self.touched.clear()
        return touched

    def note(self, owned: "Owned") -> None:
        """Note that a claim has changed."""
        self.touched[owned] = None
        if owned.position.state is PositionState.FETCHING:
            self.unsettled.pop(owned, None)
        else:
            self.unsettled[owned] = None

    def forget(self, owned: "Owned") -> None:
        """Note that a claim is over; nobody hears of it from now on."""
        owned.changes = None
        self.touched[owned] = None
        self.unsettled.pop(owned, None)


_TELLING: Final = frozenset({"blocked", "paused", "position", "replica", "retry_at", "until"})
"""What a claim's fetches hang on, its buffer apart."""


@dataclass(slots=True, eq=False)
class Owned:
    """One claim and what is kept about it.

    Args:
        claim: the period of ownership.
        position: where the next fetch begins.
        open: whether the listener has returned, so that records may be handed out.
        paused: whether the application holds it back.
        held_back: whether it was at its bound of uncommitted records at the latest look.
        chunks: fetched and not handed out yet, oldest first.
        error: raised by every read of the partition, after its buffer is empty; None without.
        blocked: whether nothing more is asked for until a seek.
        failures: failed questions in a row.
        retry_at: instant before which nothing is asked.
        refetches: how often damaged records at the position were asked for again.
        resets: how often in a row its position was out of range; 0 after a good fetch.
        turn: number of its latest useful fetch; the lowest is asked first.
        sought: how often the application has set the position.
        trouble: what the latest question that failed met, None after one that did not.
        until: offset at which reading ends, None for never.
        topic_id: of the topic the position belongs to, None while that is not known.
        renewed: whether the topic was recreated since the claim began.
        fresh: whether nothing is committed for it, and it has had no position yet.
        move: how the position is journalled once it is found.
        log_began: where its log began when the position was put there, None when it was put
            elsewhere.
        replica: the broker to fetch from instead of the leader, None for the leader.
        high_watermark: end of the log, as the latest answer said; None before one.
        last_stable_offset: end of what transactions have decided; likewise.
        log_start_offset: first offset the log still holds; likewise.
        said_at: when that answer came, seconds since the epoch.
        standing: of the fetch session whose later answers say that this is still so.
        changes: told of each change its fetches hang on, whoever makes it; None for nobody.
    """

    claim: Claim
    position: Position
    open: bool = False
    paused: bool = False
    held_back: bool = False
    chunks: deque[Chunk] = field(default_factory=deque)
    error: Exception | None = None
    blocked: bool = False
    failures: int = 0
    retry_at: float = 0.0
    refetches: int = 0
    resets: int = 0
    turn: int = 0
    sought: int = 0
    trouble: str | None = None
    until: int | None = None
    topic_id: bytes | None = None
    renewed: bool = False
    fresh: bool = False
    move: PositionMove = PositionMove.RESET
    log_began: int | None = None
    replica: Replica | None = None
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    log_start_offset: int | None = None
    said_at: float | None = None
    standing: Heard | None = None
    changes: Changes | None = field(default=None, init=False, repr=False)

    def __new__(cls, *_args: object, **_fields: object) -> Self:
        """Make one that nobody hears of yet."""
        made = object.__new__(cls)
        object.__setattr__(made, "changes", None)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        """Set a field; no writer can forget to tell of it."""
        changes = self.changes if name in _TELLING else None
        told = changes is not None and getattr(self, name) is not value
        object.__setattr__(self, name, value)
        if changes is not None and told:
            changes.note(self)

    @property
    def tp(self) -> TopicPartition:
        """The partition."""
        return self.claim.tp

    @property
    def buffered(self) -> int:
        """Bytes fetched and not handed out yet."""
        return sum(chunk.size for chunk in self.chunks)

    @property
    def heard_at(self) -> float | None:
        """When its broker has said last how far its log goes; in a session silence says so too."""
        return self.said_at if self.standing is None else self.standing.at

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing of it to hand out or to raise; asked for each, at each read."""
        return not self.chunks and self.error is None

    @property
    def is_asked_out(self) -> bool:
        """Whether everything in front of `until` was fetched."""
        at, until = self.position.offset, self.until
        return at is not None and until is not None and at >= until

    @property
    def is_over(self) -> bool:
        """Whether everything in front of `until` was handed out."""
        return self.is_idle and self.is_asked_out

    def asks(self, now: float) -> bool:
        """Tell whether a question about it may be sent now."""
        return not self.blocked and now >= self.retry_at

    def fail(self, error: Exception | None, *, blocked: bool) -> None:
        """Set what reads raise, or clear it with None."""
        self.error, self.blocked = error, blocked

    def put_off(self, now: float, pause: float, longest: float, why: str) -> None:
        """Ask later, after a pause that grows with the failures in a row."""
        self.failures += 1
        self.retry_at = now + Backoff(pause, longest, jitter=0.0, failures=self.failures).pause()
        self.trouble = why

    def succeeded(self) -> None:
        """Forget failures that were waited out."""
        self.failures, self.retry_at, self.trouble = 0, 0.0, None
        if not self.blocked:
            self.error = None

    def led_under(self, leader_epoch: int | None) -> None:
        """Doubt the position when it is good under another leader only (KIP-320).

        The new leader is asked at once: earlier failures were those of another broker.
        """
        if leader_epoch is None:
            return
        before = self.position
        self.position = before.after(EpochChanged(before.seek, leader_epoch))
        if self.position is not before:
            self.failures, self.retry_at = 0, 0.0

    def heard(self, data: PartitionData, standing: Heard) -> None:
        """Note where an answer says the log begins and ends; a broker that is silent says -1."""
        self.standing, self.said_at = standing, standing.at
        self.high_watermark = data.high_watermark if data.high_watermark >= 0 else None
        stable = data.last_stable_offset
        self.last_stable_offset = stable if stable >= 0 else self.high_watermark
        self.log_start_offset = data.log_start_offset if data.log_start_offset >= 0 else None

    def stands_alone(self) -> None:
        """Note that its fetch session, if it was in one, says nothing of it from now on."""
        self.said_at, self.standing = self.heard_at, None

    def forget_data(self) -> None:
        """Drop the buffer and forget errors: the position was set anew."""
        self.chunks.clear()
        self.fail(None, blocked=False)
        self.failures, self.retry_at, self.trouble = 0, 0.0, None
        self.refetches = 0


class OwnedPartitions:
    """Every claim of one consumer, with a rotation for fair hand-outs."""

    __slots__ = ("_by_tp", "_rotation", "begun", "changes")

    def __init__(self) -> None:
        self.begun: int = 0
        """How many claims were ever taken in; another number means new ones."""
        self.changes: Changes = Changes()
        self._by_tp: dict[TopicPartition, Owned] = {}
        self._rotation: deque[Owned] = deque()

    def __iter__(self) -> Iterator[Owned]:
        return iter(tuple(self._by_tp.values()))

    def __len__(self) -> int:
        return len(self._by_tp)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Everything owned."""
        return frozenset(self._by_tp)

    def begin(self, claims: Iterable[Claim]) -> None:
        """Take claims in; they are closed until `open`."""
        for claim in claims:
            self.end([owned.claim for owned in [self._by_tp.get(claim.tp)] if owned])
            owned = Owned(claim, Position(claim))
            owned.changes = self.changes
            self.changes.note(owned)
            self._by_tp[claim.tp] = owned
            self.begun += 1
            self._rotation.append(owned)

    def open(self, claims: Iterable[Claim]) -> None:
        """Let records of claims be handed out."""
        for owned in self.held(claims):
            owned.open = True

    def shut(self, claims: Iterable[Claim]) -> None:
        """Hand out no more records of claims, and drop their buffers."""
        for owned in self.held(claims):
            owned.open = False
            owned.chunks.clear()

    def end(self, claims: Iterable[Claim]) -> None:
        """Forget claims that are over."""
        for owned in self.held(claims):
            del self._by_tp[owned.tp]
            self.changes.forget(owned)
            self._rotation.remove(owned)

    def held(self, claims: Iterable[Claim]) -> tuple[Owned, ...]:
        """Return those of the claims that are not over."""
        found = (self.of(claim) for claim in tuple(claims))
        return tuple(owned for owned in found if owned is not None)

    def of(self, claim: Claim) -> Owned | None:
        """Return the entry of a claim, None when the claim is over."""
        owned = self._by_tp.get(claim.tp)
        return owned if owned is not None and owned.claim == claim else None

    def find(self, tp: TopicPartition) -> Owned | None:
        """Return the entry of a partition, None when it is not owned."""
        return self._by_tp.get(tp)

    def require(self, partitions: Iterable[TopicPartition]) -> tuple[Owned, ...]:
        """Return the entries of partitions.

        Raises:
            NotOwnedError: some are not owned.
        """
        asked = tuple(partitions)
        missing = [tp for tp in asked if tp not in self._by_tp]
        if missing:
            raise NotOwnedError(missing, "this consumer does not own it now")
        return tuple(self._by_tp[tp] for tp in asked)

    def keep_turn(self) -> None:
        """Give the claim that had its turn just now the next one too."""
        self._rotation.rotate(1)

    def put_first(self, owned: Owned) -> None:
        """Give a claim that is not over the next turn."""
        self._rotation.rotate(-self._rotation.index(owned))

    def turns(self) -> Iterator[Owned]:
        """Yield each claim once, first the one whose turn it is; it then goes to the end."""
        for _ in range(len(self._rotation)):
            owned = self._rotation[0]
            self._rotation.rotate(-1)
            yield owned


# -- hold ------------------------------------------------------------------------------------------


class Hold:
    """Holds partitions back; only there when `max_uncommitted` is given.

    Args:
        ledger: counts.
        notifiers: fired when readers should look again.
        sink: takes the journal's events.
    """

    def __init__(self, ledger: Ledger, notifiers: Notifiers, sink: Sink) -> None:
        self._ledger = ledger
        self._notifiers = notifiers
        self._sink = sink
        self._due = Notifier()
        self.calls: int = 0
        """How often something of a partition at its bound was done: each time a commit is due."""

    def holds(self, owned: Owned) -> bool:
        """Tell whether a partition is held back; a change of that is journalled."""
        held = self._ledger.is_at_bound(owned.claim)
        if held is not owned.held_back:
            owned.held_back = held
            kind = Paused if held else Resumed
            self._sink.emit(kind((owned.claim,), PauseCause.UNCOMMITTED))
            if held:
                self.done(owned.claim)  # of it something may have been done before the bound
        return held

    def within(self, claim: Claim, limit: int | None) -> int | None:
        """Return how many records may be handed out now, at most `limit`."""
        room = self._ledger.room(claim)
        return room if room is None or limit is None else min(room, limit)

    def done(self, claim: Claim) -> None:
        """Note that records of a claim are done: at its bound they are to be committed soon."""
        if self._ledger.is_at_bound(claim):
            self.calls += 1
            self._due.notify()

    async def due(self, calls: int) -> None:
        """Wait until there were more calls than these."""
        while self.calls == calls:
            await self._due.wait()

    def committed(self) -> None:
        """Have readers look again: a commit was answered."""
        self._notifiers.news.notify()
