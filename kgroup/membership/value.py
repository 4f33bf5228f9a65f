"""The frozen value of one classic member, and what can be read from it.

Decides: what a member remembers; derived facts (what it owes the group, what it must hand back).
Never: changes; `step` makes the next value.
KIPs: 62, 345, 429.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from kgroup.assignors import SentAssignment, common_protocol
from kgroup.errors import KGroupError
from kgroup.machine.claims import Holdings, HoldingState
from kgroup.machine.coordinator import Coordinator
from kgroup.machine.lease import Lease
from kgroup.machine.wishes import Ticket
from kgroup.membership.given_up import GivenUp
from kgroup.membership.group_description import Remembered
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.states import FACTS
from kgroup.types import (
    Cause,
    ChangeKind,
    Claim,
    Generation,
    Leave,
    Membership,
    MemberState,
    OwnershipChange,
    RebalanceProtocol,
    TopicPartition,
)
from kgroup.values import dataclass

_JOINS_AT_ONCE = 5
"""JoinGroups that may follow each other without a pause: a change of the group takes one or two."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that the coordinator knows; always replaced whole.

    Args:
        member_id: None before the coordinator gave one, and after it was lost.
        generation: None before the first round and after a loss; its member id is `member_id`.
        synced: the generation's assignment has been adopted.
    """

    member_id: str | None = None
    generation: Generation | None = None
    synced: bool = False


@dataclass(frozen=True, slots=True)
class Closing:
    """What `CloseRequested` asked for."""

    mode: Leave
    reason: str
    release_by: float
    leave_by: float


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the application asks for.

    Args:
        topics: subscribed topics, None when not subscribed.
        enforced: reason of a round that is still owed, None without one.
        closing: set once the consumer closes.
        polled_at: instant of the latest poll.
    """

    topics: frozenset[str] | None = None
    enforced: str | None = None
    closing: Closing | None = None
    polled_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Round:
    """What is known of the round this member is in, or was in last.

    Args:
        ticket: the awaited reply that moves the state.
        joined_topics: topics of the latest JoinGroup.
        unheard: topic of `joined_topics` -> partitions of it that somebody has, of those that the
            group may not know this member asks for, or may not have given out whole.
        returned: the latest JoinGroup was a static member's without its id: it may be answered
            with an assignment older than its subscription (KIP-345).
        bare: the latest JoinGroup named no generation, and claimed nothing.
        introduced: a JoinGroup was sent: from now on the group may remember this process.
        remembered: what the group knew of this static member before that; None: not known, or
            of a member id that is over.
        believed: partitions the group believes this member owns.
        held_back: what the group may hold back for a static member without an id; see `returning`.
        unsettled: a static member came back, a round was owed, and none was adopted since.
        assigned: partitions of the adopted assignment.
        assigned_in: the generation it was adopted in, None without one.
        leader: this member leads.
        watched: topic -> partition count the leader assigned from, None for a follower.
        watched_places: topic -> where its replicas were then; see `MetadataChanged`.
        watch: awaited look at the group's topics by a leader that assigns nothing (KIP-814).
        attempts: failures in a row.
        retry_at: end of the backoff.
        paced_until: instant at which the JoinGroups so far have all had their time.
        failing_since: first of a row of inexplicable JoinGroup answers.
        drain_until: instant after which batches in hand are not waited for.
        release_until: instant after which on_revoked is not waited for, None without one.
        hand_over: from when, and till when, what the last round took is waited for; see `waiting`.
        unawaited: serial of the latest change that is not waited for any longer.
        completed: rounds adopted so far.
        unasked: how many of them in a row brought topics that were not asked for.
        cause: why the latest round began.
    """

    ticket: Ticket | None = None
    joined_topics: frozenset[str] = frozenset()
    unheard: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    returned: bool = False
    bare: bool = False
    introduced: bool = False
    remembered: Remembered | None = None
    believed: frozenset[TopicPartition] = frozenset()
    held_back: frozenset[TopicPartition] = frozenset()
    unsettled: bool = False
    assigned: frozenset[TopicPartition] = frozenset()
    assigned_in: int | None = None
    leader: bool = False
    watched: Mapping[str, int] | None = None
    watched_places: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    watch: Ticket | None = None
    attempts: int = 0
    retry_at: float = 0.0
    paced_until: float = 0.0
    failing_since: float | None = None
    drain_until: float | None = None
    release_until: float | None = None
    hand_over: tuple[float | None, float] | None = None
    unawaited: int = 0
    completed: int = 0
    unasked: int = 0
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class Led:
    """What a generation was made from that this member led, and has forgotten (KIP-814).

    Args:
        generation_id: which one.
        watched: topic -> partition count.
    """

    generation_id: int
    watched: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Leadership:
    """What a leader keeps from one round to the next; a follower keeps nothing.

    Args:
        offered: the assignment that SyncGroup carries, until it is known what became of it.
        sent: the last assignment the coordinator took; None when this member did not make it, or
            cannot tell.
        rejoin_after: seconds from being in the generation to the next round, as the assignor
            asked with the assignment on its way; None for never.
        rejoin_at: the instant of that round once the generation stands.
        failure: why the latest round could not be assigned, None after one that was. The same
            words are the same error.
        failing_since: when the first of the failures in a row happened.
        led: the generation that it may come back to, unasked.
    """

    offered: SentAssignment | None = None
    sent: SentAssignment | None = None
    rejoin_after: float | None = None
    rejoin_at: float | None = None
    failure: KGroupError | None = None
    failing_since: float | None = None
    led: Led | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """The user data of the last assignment, kept by this member for the assignor that made it.

    It goes back to the leader with every JoinGroup, and is replaced by that of the next
    assignment, also by none. A member that loses its partitions keeps it: with the generation goes
    what is claimed, but the memory is the assignor's, and a member may claim nothing by it.
    1. A group holds the partitions of a member that has gone back for a while; what and how long
    is in the user data of all. 2. The session of one member ends, or a coordinator that failed
    over tells all of them that the generation is not its own. 3. They join again, one under
    another member id: what was held back must not be forgotten, nor for which member.
    So it may be older than what the others bring. It ends with the membership.

    Args:
        protocol_name: the assignor; no other is given the bytes.
        user_data: as they came.
    """

    protocol_name: str
    user_data: bytes


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of a classic group at one moment.

    Args:
        settings: fixed for its life.
        lease: until when ownership can be proved.
        state: place in the round.
        identity: what the coordinator knows it as.
        wishes: what the application asks for.
        coordinator: what is known of it.
        round: the one it is in, or was in last.
        lead: what it keeps as a leader.
        memory: what it keeps for the assignor.
        holdings: what it owns.
        heartbeat: the awaited answer.
        heartbeat_at: when the next one is due.
        given_up: what was asked under the present id and may still tell of a twin.
        trouble: what the coordinator does not permit at present, or why rounds have failed at
            this leader for long; every read raises it.
        counts: topic -> partition count, as far as known.
        places: topic -> where its replicas are, as far as that matters.
        changes: calls of the listener that have not returned.
        next_ticket: serial of the next ticket.
        next_change: serial of the next change.
    """

    settings: MembershipSettings
    lease: Lease
    state: MemberState = MemberState.UNSUBSCRIBED
    identity: Identity = field(default_factory=Identity)
    wishes: Wishes = field(default_factory=Wishes)
    coordinator: Coordinator = field(default_factory=Coordinator)
    round: Round = field(default_factory=Round)
    lead: Leadership = field(default_factory=Leadership)
    memory: Memory | None = None
    holdings: Holdings = field(default_factory=Holdings)
    heartbeat: Ticket | None = None
    heartbeat_at: float = 0.0
    given_up: GivenUp = field(default_factory=GivenUp)
    trouble: KGroupError | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    places: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    changes: tuple[OwnershipChange, ...] = ()
    next_ticket: int = 1
    next_change: int = 1

    @staticmethod
    def new(settings: MembershipSettings, now: float) -> "GroupMember":
        """Return a member that has not asked for anything yet."""
        lease = Lease(settings.session_timeout, settings.rebalance_timeout, settings.lease_margin)
        return GroupMember(settings=settings, lease=lease, wishes=Wishes(polled_at=now))

    @property
    def protocol(self) -> RebalanceProtocol:
        """The highest protocol all configured assignors support (KIP-429)."""
        return common_protocol(self.settings.assignors)

    @property
    def eager(self) -> bool:
        """Whether everything is handed back before a round."""
        return self.protocol is RebalanceProtocol.EAGER

    def must_hand_back(self) -> tuple[Claim, ...]:
        """Return what must be gone before JoinGroup.

        Eager: everything. Cooperative: partitions of topics no longer subscribed to; a leader
        may pass claims on such topics over, and another member would get them at once.
        """
        if self.lease.lapsed:
            return ()  # no JoinGroup comes before the coordinator has said what became of them
        if self.eager:
            return self.holdings.claims
        wanted = self.wishes.topics or frozenset()
        return tuple(claim for claim in self.holdings.claims if claim.tp.topic not in wanted)

    def still_revoking(self) -> frozenset[TopicPartition]:
        """Return what on_revoked has not returned for although it was lost meanwhile.

        1. on_revoked(p) runs; 2. the generation is lost, so nothing can be claimed any more; 3. a
        JoinGroup now would have p given to another member, whose listener then works on p together
        with ours. So it waits, but not for ever; and not for a p that a round gave back meanwhile,
        which is claimed like all that is owned.
        """
        if not self.changes:
            return frozenset()  # as nearly always
        revoked = frozenset(
            claim.tp
            for change in self.changes
            if change.kind is ChangeKind.REVOKED
            for claim in change.removed
            if change.serial > self.round.unawaited
        )
        return revoked - self.holdings.partitions

    def release_cause(self, claims: tuple[Claim, ...] = ()) -> Cause:
        """Tell why partitions are given up now, some time after that was decided.

        What goes with a topic that was dropped meanwhile goes for that, whatever the round is for.
        """
        topics = self.wishes.topics
        if self.wishes.closing is not None:
            return Cause.CLOSING
        if topics is None:
            return Cause.UNSUBSCRIBED
        if claims and not any(claim.tp.topic in topics for claim in claims):
            return Cause.TOPICS_CHANGED
        return self.round.cause or Cause.GROUP_REBALANCED

    def owes_round(self) -> bool:
        """Tell whether this member has something to say that the group does not know."""
        gone = self.round.believed - self.holdings.partitions
        other_topics = self.wishes.topics is not None and (
            self.wishes.topics != self.round.joined_topics
        )
        return bool(gone) or other_topics or self.wishes.enforced is not None or self.recounted()

    def recounted(self) -> bool:
        """Tell whether the leader's topics are not what it assigned from: counts, or racks."""
        watched, places = self.round.watched, self.round.watched_places
        if watched is None:
            return False
        grown = any(self.counts.get(topic, 0) != count for topic, count in watched.items())
        return grown or any(
            self.places.get(topic, place) != place for topic, place in places.items()
        )

    def recalls(self) -> bool:
        """Tell whether the coordinator can still say what the process before this one asked for."""
        # The first JoinGroup overwrites it, whether or not its answer arrives.
        return self.settings.group_instance_id is not None and not self.round.introduced

    def unheard(self) -> frozenset[str]:
        """Return topics with partitions that nobody may have; see `returning`."""
        known = self.round.unheard
        return frozenset(topic for topic, had in known.items() if self.counts.get(topic, 0) > had)

    def join_due_at(self) -> float:
        """Return the instant from which the next JoinGroup keeps the pace.

        A coordinator that refuses every generation would have a member rejoin at once for ever.
        """
        ahead = (_JOINS_AT_ONCE - 1) * self.settings.join_interval
        return self.round.paced_until - ahead

    def settling(self) -> frozenset[Claim]:
        """Return claims whose on_assigned has not returned."""
        added = (each.added for each in self.changes if each.kind is ChangeKind.ASSIGNED)
        return frozenset[Claim]().union(*added)

    def may_deliver(self, claim: Claim, now: float) -> bool:
        """Tell whether records of `claim` may be handed out: held, announced, lease good."""
        return now < self.delivers_until(claim)

    def delivers_until(self, claim: Claim) -> float:
        """Return the instant from which records of `claim` may not be handed out any more."""
        until = self.lease.expires_at()
        held = self.holdings.states.get(claim) is HoldingState.HELD
        return until if held and until is not None and claim not in self.settling() else -math.inf

    def owns(self, claim: Claim) -> bool:
        """Tell whether `claim` is not over; it may be draining or being revoked."""
        return claim in self.holdings.states

    def may_commit(self) -> bool:
        """Tell whether a commit sent now can be accepted."""
        return (
            FACTS[self.state].commits
            and self.identity.generation is not None
            and self.coordinator.node_id is not None
        )

    def snapshot(self) -> Membership:
        """Return what the outside may know."""
        generation = self.identity.generation
        leaving = self.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)
        return Membership(
            group_id=self.settings.group_id,
            state=self.state,
            generation=generation,
            claims=self.holdings.claims,
            draining=frozenset(claim.tp for claim in leaving),
            leader=self.round.leader,
            assignor=None if generation is None else generation.protocol_name,
            rebalances=self.round.completed,
            cause=self.round.cause,
            coordinator=self.coordinator.node_id,
            trouble=(self.trouble or self.lead.failure) if FACTS[self.state].seeks else None,
        )
