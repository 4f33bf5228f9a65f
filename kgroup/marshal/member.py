"""One member of a Marshal group: a frozen value, replaced by each step.

Decides: the shape, and what follows from it.
Never: decides what is next; `step` does.
"""

import math
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from kgroup.machine.claims import Holdings, HoldingState
from kgroup.machine.wishes import CloseRequested
from kgroup.marshal.key_rows import KeyPhase
from kgroup.marshal.key_state import KeyLife, Pause
from kgroup.marshal.presence import Limits, Presence, Waits
from kgroup.marshal.rules import MarshalSettings
from kgroup.marshal.standing import Standing
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

_SLACK_OF_BROKERS: Final = 0.05
_SLACK_OF_SENDERS: Final = 1.1
"""What a sender writes are whole seconds, rounded down."""


def _nothing() -> MappingProxyType[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MarshalWishes:
    """What the application asks for.

    Args:
        topics: subscribed topics, None when not subscribed.
        partitions: exact partitions, None when not assigned by hand.
        polled_at: instant of the latest poll.
        closing: set once the consumer closes.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[TopicPartition] | None = None
    polled_at: float = 0.0
    closing: CloseRequested | None = None

    @property
    def wants_anything(self) -> bool:
        """Whether anything is asked for."""
        return self.topics is not None or self.partitions is not None

    def of_topics(self) -> frozenset[str]:
        """Return the topics of what is asked for."""
        if self.partitions is not None:
            return frozenset(tp.topic for tp in self.partitions)
        return self.topics or frozenset()


@dataclass(frozen=True, slots=True)
class MarshalLog:
    """One coordination partition, as far as it was read.

    Args:
        topics: the topics whose claims it has.
        next_offset: behind the last record that was read.
        time: log time of the latest message, milliseconds, -1 before any.
        read_at: instant at which a message of that time was read first.
        since: log time of the first message that was read, -1 before any.
        append_time: whether log time is the broker's.
        complete: whether nothing that it ever held is missing before what was read.
        presence: the members that are there.
        limits: how much each of them takes at most.
        waits: how long each was there without taking anything.
        pause: of this group, None without.
        is_go: whether headers do not count: all members behave as beside the original library.
        opened_at: instant at which it was read to its end.
        heard_at: instant of the reader's last report, even of an empty one.
    """

    topics: frozenset[str]
    next_offset: int
    time: int
    read_at: float
    since: int
    append_time: bool
    complete: bool
    presence: Presence
    limits: Limits
    waits: Waits
    pause: Pause | None
    is_go: bool
    opened_at: float
    heard_at: float

    def time_at(self, now: float) -> int:
        """Return the least log time that a record written at an instant can have.

        A message is read after it was written; what has gone by since then, has in the log, too.
        """
        return self.time + int((now - self.read_at) * 1000)

    def instant_of(self, time: int) -> float:
        """Return the instant from which a record written has at least a log time."""
        slack = _SLACK_OF_BROKERS if self.append_time else _SLACK_OF_SENDERS
        return self.read_at + (time - self.time) / 1000 + slack


@dataclass(frozen=True, slots=True)
class PendingCommit:
    """A commit that is not answered yet.

    Args:
        serial: of the commit.
        waiting: claim -> ticket that the next write of its key has at least, of claims whose
            position is not in the log.
        refused: claim -> why.
        unknown: whether what was refused may have been written.
    """

    serial: int
    waiting: Mapping[Claim, int]
    refused: Mapping[Claim, str] = field(default_factory=_nothing)
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Sharing:
    """What a member remembers of the others, to divide topics fairly with them.

    Args:
        members: topic -> client ids that were there when it was last looked.
        counts: topic -> partitions when it was last looked.
        stable_since: topic -> instant since which both are the same, and claims are not barred by
            a pause; ahead while one lasts.
        given_back_at: instant at which something was last handed back for their sake.
    """

    members: Mapping[str, frozenset[bytes]] = field(default_factory=_nothing)
    counts: Mapping[str, int] = field(default_factory=_nothing)
    stable_since: Mapping[str, float] = field(default_factory=_nothing)
    given_back_at: float = 0.0


@dataclass(frozen=True, slots=True)
class MarshalMember:
    """One member at one moment.

    Args:
        settings: fixed at construction.
        wishes: what the application asks for.
        counts: topic -> partition count, as far as known.
        logs: coordination partitions that were read to their end, by number.
        standings: what the log says about keys of the group.
        lives: keys that this member has to do with.
        key_due: when the first of their timers is due, infinity when none runs. Each step asks for
            this and the next of all keys; a step that replaces a key keeps both.
        flowing: keys whose records may be handed out until their claims expire.
        holdings: what it owns.
        changes: calls of the listener that have not returned.
        commits: that are not answered yet, in order.
        offset_commits: tickets of `CommitOffsets` that are not answered.
        presence_at: topic -> when the next sign of presence is due.
        limits_shown: topic -> how much of it the last sign said that this member takes at most.
        sharing: what it remembers of the others.
        forfeited: topics to be given back whole, because a part of them was lost.
        is_beside_peers: whether peers without headers were seen to write for its group.
        dormant: whether the application has not polled for too long.
        plan_at: instant at which something may be worth a claim that is not now.
        trouble: what keeps it from its work and is tried again; every read raises it.
        delay: what keeps a partition from its position for more than a moment, and passes by
            itself; it is shown, and no read raises it.
        commit_trouble: why the group coordinator takes no positions of this group at all; every
            read raises it too, until it takes one.
        failure: what ended it for good.
        left: whether it has ended.
        rounds: how often it has come to own something.
        cause: why ownership changed last.
        next_ticket: serial of the next ticket.
        next_change: serial of the next change.
    """

    settings: MarshalSettings
    wishes: MarshalWishes = field(default_factory=MarshalWishes)
    counts: Mapping[str, int] = field(default_factory=_nothing)
    logs: Mapping[int, MarshalLog] = field(default_factory=_nothing)
    standings: Mapping[TopicPartition, Standing] = field(default_factory=_nothing)
    lives: Mapping[TopicPartition, KeyLife] = field(default_factory=_nothing)
    key_due: float = math.inf
    flowing: frozenset[TopicPartition] = frozenset()
    holdings: Holdings = field(default_factory=Holdings)
    changes: tuple[OwnershipChange, ...] = ()
    commits: tuple[PendingCommit, ...] = ()
    offset_commits: frozenset[int] = frozenset()
    presence_at: Mapping[str, float] = field(default_factory=_nothing)
    limits_shown: Mapping[str, int | None] = field(default_factory=_nothing)
    sharing: Sharing = field(default_factory=Sharing)
    forfeited: frozenset[str] = frozenset()
    is_beside_peers: bool = False
    dormant: bool = False
    plan_at: float = 0.0
    trouble: Exception | None = None
    delay: Exception | None = None
    commit_trouble: Exception | None = None
    failure: Exception | None = None
    left: bool = False
    rounds: int = 0
    cause: Cause | None = None
    next_ticket: int = 1
    next_change: int = 1

    @staticmethod
    def new(settings: MarshalSettings, now: float) -> "MarshalMember":
        """Return a member that has not asked for anything yet."""
        return MarshalMember(settings, MarshalWishes(polled_at=now), plan_at=now)

    @property
    def state(self) -> MemberState:
        """Where it stands, in the words of any group."""
        if self.failure is not None:
            return MemberState.FAILED
        if self.left:
            return MemberState.LEFT
        if self.wishes.closing is not None:
            return MemberState.RELEASING
        if not self.wishes.wants_anything:
            return MemberState.RELEASING if self.holdings else MemberState.UNSUBSCRIBED
        if self.dormant:
            return MemberState.DORMANT
        return MemberState.STABLE if self.reads_all() else MemberState.FINDING

    @property
    def who(self) -> tuple[bytes, bytes]:
        """Client id and instance id, as in the log."""
        return self.settings.client_id.encode(), self.settings.instance_id.encode()

    def reads_all(self) -> bool:
        """Tell whether the log of every topic asked for was read to its end."""
        return self.wishes.of_topics() <= self.read_topics()

    def read_topics(self) -> frozenset[str]:
        """Return the topics whose log was read to its end."""
        return frozenset().union(*(log.topics for log in self.logs.values()))

    def log_of(self, topic: str) -> MarshalLog | None:
        """Return the log of a topic's claims, None before it was read to its end."""
        return next((log for log in self.logs.values() if topic in log.topics), None)

    def life(self, tp: TopicPartition) -> KeyLife:
        """Return the life of a key."""
        return self.lives.get(tp) or KeyLife(tp)

    def standing(self, tp: TopicPartition) -> Standing:
        """Return what the log says about a key; of one that it never spoke of, nothing."""
        found = self.standings.get(tp)
        if found is not None:
            return found
        log = self.log_of(tp.topic)
        return Standing(definite=log is not None and log.complete)

    def claimable_at(self, tp: TopicPartition) -> float:
        """Return the instant from which a claim is accepted, infinity before the log was read."""
        log = self.log_of(tp.topic)
        if log is None:
            return math.inf
        if self.resumes(tp):
            return 0.0
        free_at = self.standing(tp).free_at(log.since)
        return log.instant_of(free_at) if free_at else 0.0

    def resumes(self, tp: TopicPartition) -> bool:
        """Tell whether an earlier process of this member has a partition, and gives it to us."""
        settings, standing = self.settings, self.standing(tp)
        if not (settings.is_static and settings.fast_reclaim and standing.owned):
            return False
        client_id, instance_id = self.who
        twin = standing.client_id == client_id and standing.instance_id != instance_id
        return twin and standing.started is not None and standing.started < settings.started

    def still_revoking(self) -> frozenset[TopicPartition]:
        """Return partitions whose on_revoked has not returned, whatever their owner is by now."""
        return frozenset(
            claim.tp
            for change in self.changes
            if change.kind is ChangeKind.REVOKED
            for claim in change.removed
        )

    def settling(self) -> frozenset[Claim]:
        """Return claims whose on_assigned has not returned."""
        return frozenset(
            claim
            for change in self.changes
            if change.kind is ChangeKind.ASSIGNED
            for claim in change.added
        )

    def may_deliver(self, claim: Claim, now: float) -> bool:
        """Tell whether records may be handed out: held, announced, and the claim not expired."""
        return now < self.delivers_until(claim)

    def delivers_until(self, claim: Claim) -> float:
        """Return the instant from which records of `claim` may not be handed out any more."""
        if self.holdings.states.get(claim) is not HoldingState.HELD:
            return -math.inf
        life = self.lives.get(claim.tp)
        if life is None or life.phase is not KeyPhase.OWNED or life.rewinds:
            return -math.inf
        until = life.expires_at
        return until if until is not None and claim not in self.settling() else -math.inf

    def may_commit(self, tp: TopicPartition, now: float) -> bool:
        """Tell whether this member may move its position with the group coordinator.

        It may until its claim expires, and behind its release until another member claims it.
        """
        life, standing = self.life(tp), self.standing(tp)
        if not life.is_idle and life.epoch is not None:
            return life.expires_at is not None and now < life.expires_at
        ours = (standing.client_id, standing.instance_id) == self.who
        return ours and not standing.owned

    def snapshot(self) -> Membership:
        """Return what others may see; the generation is the claim's, not the member's."""
        going = self.holdings.having(HoldingState.DRAINING, HoldingState.REVOKING)
        return Membership(
            group_id=self.settings.group_id,
            state=self.state,
            generation=self.identity() if self.holdings else None,
            claims=self.holdings.claims,
            draining=frozenset(claim.tp for claim in going),
            rebalances=self.rounds,
            cause=self.cause,
            trouble=self.trouble_of_reads or self.delay,
        )

    @property
    def trouble_of_reads(self) -> Exception | None:
        """What every read is to raise at present, None while nothing is."""
        return self.trouble or self.commit_trouble

    def identity(self) -> Generation | None:
        """Return nothing: the log fences by the offset of each claim, see `Claim`."""
        return None
