"""The frozen value of one member of a KIP-848 group, and what can be read from it.

Decides: what a member remembers; derived facts (what it may take, what it must still say).
Never: changes; `step` makes the next value.
KIPs: 62, 345, 848.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from kgroup.consumer_group.settings import ASSUMED_SESSION, ConsumerGroupSettings
from kgroup.consumer_group.states import FACTS
from kgroup.errors import KGroupError
from kgroup.machine.claims import Holdings, HoldingState
from kgroup.machine.coordinator import Coordinator
from kgroup.machine.lease import Lease
from kgroup.machine.wishes import CloseRequested, Ticket
from kgroup.types import (
    Cause,
    ChangeKind,
    Claim,
    Generation,
    Membership,
    MemberState,
    OwnershipChange,
    TopicPartition,
)
from kgroup.values import dataclass

Place = tuple[bytes, int]
"""A partition as the coordinator calls it: topic id and number."""

_AT_ONCE: Final = 5
"""Joins, or early heartbeats, that may follow each other without a pause."""
_FIRST_INTERVAL: Final = 5.0


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that the coordinator knows.

    Args:
        generation: its number is the member's epoch; None before it joined, and after a loss.
        known: whether the coordinator may know the member id: a join was sent, and no farewell.
    """

    generation: Generation | None = None
    known: bool = False

    @property
    def epoch(self) -> int:
        """The member's epoch, 0 for a member that joins."""
        return 0 if self.generation is None else self.generation.generation_id


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the application asks for.

    Args:
        topics: subscribed topics, None when not subscribed.
        pattern: what the coordinator matches topics with instead, None without one, "" when there
            was one before: the coordinator must hear that there is none.
        closing: set once the consumer closes.
        polled_at: instant of the latest poll.
    """

    topics: frozenset[str] | None = None
    pattern: str | None = None
    closing: CloseRequested | None = None
    polled_at: float = 0.0

    def takes(self, topic: str) -> bool:
        """Tell whether a topic is asked for; what fits a pattern, only the coordinator can say."""
        return bool(self.pattern) or (self.topics is not None and topic in self.topics)


@dataclass(frozen=True, slots=True)
class Said:
    """What one heartbeat says, or what the coordinator has heard.

    Args:
        topics: what is asked for.
        pattern: likewise.
        owned: what is owned.
        claims: the claims behind it.
        whole: whether the heartbeat says everything.
        lists: whether the heartbeat lists what is owned.
    """

    topics: frozenset[str]
    pattern: str | None = None
    owned: frozenset[Place] = frozenset()
    claims: frozenset[Claim] = frozenset()
    whole: bool = False
    lists: bool = False


@dataclass(frozen=True, slots=True)
class Assigned:
    """What the coordinator has given, and how far this member has come with it.

    Args:
        target: what it may own.
        taken: claim -> the topic id under which it was taken.
        acknowledged: claims that the coordinator has heard of, and left to this member.
        owes: an assignment has come that was not acknowledged yet.
        gives_up: one of them lacked something that the one before had: the coordinator waits.
        unheard: the listener has not heard of the latest one.
        completed: assignments reconciled so far.
    """

    target: frozenset[Place] = frozenset()
    taken: Mapping[Claim, bytes] = field(default_factory=lambda: MappingProxyType({}))
    acknowledged: frozenset[Claim] = frozenset()
    owes: bool = False
    gives_up: bool = False
    unheard: bool = False
    completed: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """When things are done again.

    Args:
        attempts: failures in a row.
        retry_at: end of the backoff.
        joins_until: instant at which the joins so far have all had their time.
        beats_until: the same of heartbeats ahead of their time.
        drain_until: instant after which batches in hand are not waited for, None without one.
        release_until: instant after which on_revoked is not waited for, None without one.
        unawaited: serial of the latest change that is not waited for any longer.
        unnamed_since: instant since which a topic without a known name is assigned.
    """

    attempts: int = 0
    retry_at: float = 0.0
    joins_until: float = 0.0
    beats_until: float = 0.0
    drain_until: float | None = None
    release_until: float | None = None
    unawaited: int = 0
    unnamed_since: float | None = None


@dataclass(frozen=True, slots=True)
class ConsumerGroupMember:
    """One member of a KIP-848 group at one moment.

    Args:
        settings: fixed for its life.
        lease: until when ownership can be proved.
        state: see `states`.
        identity: what the coordinator knows it as.
        wishes: what the application asks for.
        coordinator: what is known of it.
        assigned: what it was given.
        holdings: what it owns.
        names: topic id -> name, as far as known.
        said: what the coordinator has heard; None when it must hear everything.
        saying: what the heartbeat in flight says; None when its answer may tell no news of that.
        heartbeat: the awaited answer, also of a join.
        farewell: the awaited answer of a farewell.
        heartbeat_at: when the next heartbeat is due.
        session_told: whether brokers have said how long a session is, or that they do not say.
        interval: seconds between two heartbeats, as the coordinator says.
        pace: when things are done again.
        cause: why the latest reconciliation began.
        told: notes that are not to be repeated.
        trouble: what the coordinator does not permit at present; every read raises it.
        changes: calls of the listener that have not returned.
        next_ticket: serial of the next ticket.
        next_change: serial of the next change.
    """

    settings: ConsumerGroupSettings
    lease: Lease
    state: MemberState = MemberState.UNSUBSCRIBED
    identity: Identity = field(default_factory=Identity)
    wishes: Wishes = field(default_factory=Wishes)
    coordinator: Coordinator = field(default_factory=Coordinator)
    assigned: Assigned = field(default_factory=Assigned)
    holdings: Holdings = field(default_factory=Holdings)
    names: Mapping[bytes, str] = field(default_factory=lambda: MappingProxyType({}))
    said: Said | None = None
    saying: Said | None = None
    heartbeat: Ticket | None = None
    farewell: Ticket | None = None
    heartbeat_at: float = 0.0
    session_told: bool = False
    interval: float = _FIRST_INTERVAL
    pace: Pace = field(default_factory=Pace)
    cause: Cause | None = None
    told: frozenset[str] = frozenset()
    trouble: KGroupError | None = None
    changes: tuple[OwnershipChange, ...] = ()
    next_ticket: int = 1
    next_change: int = 1

    @staticmethod
    def new(settings: ConsumerGroupSettings, now: float) -> "ConsumerGroupMember":
        """Return a member that has not asked for anything yet."""
        session = settings.session_timeout or ASSUMED_SESSION
        lease = Lease(session, settings.rebalance_timeout, settings.lease_margin)
        return ConsumerGroupMember(settings, lease, wishes=Wishes(polled_at=now))

    @property
    def eager(self) -> bool:
        """Whether everything is handed back before a round: there are no rounds."""
        return False

    @property
    def heartbeat_timeout(self) -> float:
        """Deadline of a heartbeat: a lost one must not cost the session."""
        patience = max(self.interval, self.lease.session_timeout / 3)
        return min(self.settings.request_timeout, patience)

    # -- what is assigned ------------------------------------------------------------------

    def due(self, claim: Claim) -> bool:
        """Tell whether a claim is for what this member may own, and asks for."""
        return self.place_of(claim) in self.assigned.target and self.wishes.takes(claim.tp.topic)

    def place_of(self, claim: Claim) -> Place:
        """Return what the coordinator calls the partition of a claim."""
        return self.assigned.taken[claim], claim.tp.partition

    def takeable(self) -> dict[TopicPartition, bytes]:
        """Return what may be owned and is asked for, as far as its topics have names."""
        found: dict[TopicPartition, bytes] = {}
        names = self._names()
        for topic_id, number in self.assigned.target:
            name = names.get(topic_id)
            if name is not None and self.wishes.takes(name):
                found[TopicPartition(name, number)] = topic_id
        return found

    def unnamed(self) -> frozenset[bytes]:
        """Return the assigned topics whose names are not known."""
        return frozenset(topic_id for topic_id, _ in self.assigned.target) - self._names().keys()

    def _names(self) -> dict[bytes, str]:
        """Return the names of topics; one of which something is owned has one.

        1. u-0 is owned; 2. brokers do not tell of u for a moment; 3. u-2 is assigned.
        """
        owned = {topic_id: claim.tp.topic for claim, topic_id in self.assigned.taken.items()}
        return owned | dict(self.names)

    def giving_up(self) -> tuple[Claim, ...]:
        """Return what is being given up at present."""
        return self.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)

    def is_settled(self) -> bool:
        """Tell whether all that is assigned is owned, and the coordinator has heard so."""
        owned = frozenset(self.holdings.claims)
        whole = self.takeable().keys() <= self.holdings.partitions
        heard = self.said is not None and not self.assigned.owes
        calm = not self.unnamed() and not self.giving_up()
        return whole and heard and calm and owned <= self.assigned.acknowledged

    # -- what is awaited -------------------------------------------------------------------

    def still_revoking(self) -> frozenset[TopicPartition]:
        """Return what on_revoked has not returned for although it was lost meanwhile.

        1. on_revoked(p) runs; 2. the lease ends; 3. a heartbeat that lists nothing would have p
        given to another member, whose listener then works on p together with ours.
        """
        if not self.changes:
            return frozenset()  # as nearly always
        revoked = frozenset(
            claim.tp
            for change in self.changes
            if change.kind is ChangeKind.REVOKED and change.serial > self.pace.unawaited
            for claim in change.removed
        )
        return revoked - self.holdings.partitions

    def join_due_at(self) -> float:
        """Return the instant from which the next join keeps the pace."""
        return self.pace.joins_until - (_AT_ONCE - 1) * self.settings.turn_interval

    def beat_due_at(self) -> float:
        """Return the instant from which a heartbeat ahead of its time keeps the pace.

        A coordinator that answers each acknowledgement with another assignment would have a member
        send them without end.
        """
        return self.pace.beats_until - (_AT_ONCE - 1) * self.settings.turn_interval

    def release_cause(self, claims: tuple[Claim, ...] = ()) -> Cause:
        """Tell why partitions are given up now, some time after that was decided."""
        if self.wishes.closing is not None:
            return Cause.CLOSING
        if self.wishes.topics is None:
            return Cause.UNSUBSCRIBED
        if claims and not any(self.wishes.takes(claim.tp.topic) for claim in claims):
            return Cause.TOPICS_CHANGED
        return Cause.GROUP_REBALANCED

    # -- what may be done ------------------------------------------------------------------

    def settling(self) -> frozenset[Claim]:
        """Return claims whose on_assigned has not returned."""
        added = (each.added for each in self.changes if each.kind is ChangeKind.ASSIGNED)
        return frozenset[Claim]().union(*added)

    def may_deliver(self, claim: Claim, now: float) -> bool:
        """Tell whether records of `claim` may be handed out at an instant."""
        return now < self.delivers_until(claim)

    def delivers_until(self, claim: Claim) -> float:
        """Return the instant from which records of `claim` may not be handed out any more.

        It must be held, acknowledged and announced, and the lease must be good.
        """
        until = self.lease.expires_at()
        held = self.holdings.states.get(claim) is HoldingState.HELD
        heard = claim in self.assigned.acknowledged
        good = held and heard and until is not None and claim not in self.settling()
        return until if good and until is not None else -math.inf

    def owns(self, claim: Claim) -> bool:
        """Tell whether `claim` is not over; it may be draining or being revoked."""
        return claim in self.holdings.states

    def may_commit(self) -> bool:
        """Tell whether a commit sent now can be accepted."""
        node_id, generation = self.coordinator.node_id, self.identity.generation
        return FACTS[self.state].commits and generation is not None and node_id is not None

    def snapshot(self) -> Membership:
        """Return what the outside may know."""
        return Membership(
            group_id=self.settings.group_id,
            state=self.state,
            generation=self.identity.generation,
            claims=self.holdings.claims,
            draining=frozenset(claim.tp for claim in self.giving_up()),
            assignor=self.settings.server_assignor,
            rebalances=self.assigned.completed,
            cause=self.cause,
            coordinator=self.coordinator.node_id,
            trouble=self.trouble if FACTS[self.state].seeks else None,
        )
