"""A `GroupBackend` in memory: the test decides which partitions it owns.

It keeps the promises of a real one: claims are minted and never reused, changes wait to be settled
and come in order, draining waits for records in hand, commits under ended claims are refused.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import count

import anyio
from anyio.abc import TaskStatus

from kgroup.config import ConsumerConfig
from kgroup.journal import Sink
from kgroup.net.cluster import Cluster
from kgroup.net.ports import Notifier
from kgroup.types import (
    Cause,
    ChangeKind,
    Claim,
    CommitOutcome,
    CommitStatus,
    Generation,
    Leave,
    Membership,
    MemberState,
    OffsetAndMetadata,
    OwnershipChange,
    PartitionOutcome,
    Subscription,
    TopicPartition,
)


class MemoryBackend:
    """Owns what the test gives, until the test takes it away."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.offsets: dict[TopicPartition, int] = {}
        self.commits: list[dict[TopicPartition, int]] = []
        self.subscription: Subscription | None = None
        self.polls = 0
        self.lease = True
        self.left: Leave | None = None
        self.commit_status = CommitStatus.COMMITTED
        self.commit_seconds = 0.0
        self.admit_seconds = 0.0
        self.admitted: list[tuple[TopicPartition, int]] = []
        self.rounds: list[str] = []
        self._claims: dict[TopicPartition, Claim] = {}
        self._draining: set[Claim] = set()
        self._in_hand: set[Claim] = set()
        self._changes: list[OwnershipChange] = []
        self._serials, self._numbers = count(1), count(1)
        self._news = Notifier()
        self._error: Exception | None = None

    # -- what the test does ----------------------------------------------------------------

    def give(self, *tps: TopicPartition) -> None:
        """Assign some partitions beside those owned."""
        added = tuple(Claim(tp, next(self._serials)) for tp in sorted(tps))
        kept = tuple(self._claims.values())
        self._claims.update({claim.tp: claim for claim in added})
        self.cluster.watch(frozenset(tp.topic for tp in self._claims))
        self._change(ChangeKind.ASSIGNED, added=added, kept=kept, cause=Cause.ASSIGNED)

    def take_away(self, *tps: TopicPartition) -> None:
        """Ask for some partitions back: each when nothing of it is in hand."""
        self._draining |= {self._claims[tp] for tp in tps}
        self._drain(Cause.GROUP_REBALANCED)

    def lose(self) -> None:
        """End everything at once."""
        gone = tuple(self._claims.values())
        self._claims.clear()
        self._draining.clear()
        self._change(ChangeKind.LOST, removed=gone, cause=Cause.UNKNOWN_MEMBER)

    def fail(self, error: Exception) -> None:
        """End the membership for good."""
        self._error = error
        self._news.notify()

    def claim(self, tp: TopicPartition) -> Claim:
        """Return the claim held now."""
        return self._claims[tp]

    # -- the protocol ----------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        task_status.started()
        while self._error is None and self.left is None:
            await self._news.wait()
        if self._error is not None:
            raise self._error

    def subscribe(self, subscription: Subscription | None) -> None:
        self.subscription = subscription

    async def next_change(self) -> OwnershipChange:
        while not self._changes:
            await self._news.wait()
        return self._changes[0]

    def settled(self, change: OwnershipChange, *, failed: bool = False) -> None:
        assert self._changes[0] is change
        self._changes.pop(0)
        for claim in change.removed:
            if self._claims.get(claim.tp) == claim:
                del self._claims[claim.tp]
        self._news.notify()

    def drained(self, claim: Claim) -> None:
        self._in_hand.discard(claim)
        self._drain(Cause.GROUP_REBALANCED)

    def taken(self, claim: Claim) -> None:
        assert self.may_deliver(claim)
        self._in_hand.add(claim)

    def note_poll(self) -> None:
        self.polls += 1

    def token(self, claim: Claim) -> Generation | None:
        del claim
        return self.membership.generation

    @property
    def takes_partitions(self) -> bool:
        return False

    def may_deliver(self, claim: Claim) -> bool:
        settling = any(claim in (*each.added, *each.removed) for each in self._changes)
        held = self._claims.get(claim.tp) == claim and claim not in self._draining
        return self.lease and held and not settling

    async def admit(self, claim: Claim, until: int) -> bool:
        if self.admit_seconds:
            await anyio.sleep(self.admit_seconds)
        self.admitted.append((claim.tp, until))
        return self.may_deliver(claim)

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        if self.commit_seconds:
            await anyio.sleep(self.commit_seconds)
        outcomes = {}
        for claim, offset in offsets.items():
            over = self._claims.get(claim.tp) != claim
            status = CommitStatus.REFUSED if over else self.commit_status
            outcomes[claim.tp] = PartitionOutcome(status, offset, None, "" if not over else "over")
        good = {
            tp: each.offset.offset
            for tp, each in outcomes.items()
            if each.status is CommitStatus.COMMITTED
        }
        self.commits.append(good)
        self.offsets |= good
        return CommitOutcome(outcomes)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        return {
            tp: OffsetAndMetadata(self.offsets[tp]) if tp in self.offsets else None
            for tp in partitions
        }

    def enforce_rebalance(self, reason: str) -> None:
        self.rounds.append(reason)

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        with anyio.move_on_after(timeout, shield=True):
            if self._claims:
                self._draining |= set(self._claims.values())
                self._drain(Cause.CLOSING)
            while self._changes:
                await self._news.wait()
        self.left = mode
        self._news.notify()
        return True

    @property
    def trouble(self) -> Exception | None:
        return None

    @property
    def membership(self) -> Membership:
        idle = self.subscription is None and not self._claims
        state = MemberState.UNSUBSCRIBED if idle else MemberState.STABLE
        state = state if self.left is None else MemberState.LEFT
        return Membership(
            group_id="g",
            state=state,
            generation=Generation("g", 1, "m"),
            claims=tuple(self._claims.values()),
            draining=frozenset(claim.tp for claim in self._draining),
        )

    async def membership_changed(self, seen: Membership) -> Membership:
        while (now := self.membership) == seen:
            await self._news.wait()
        return now

    # -- inside ----------------------------------------------------------------------------

    def _drain(self, cause: Cause) -> None:
        ready = tuple(sorted(self._draining - self._in_hand, key=lambda claim: claim.tp))
        if ready:
            self._draining -= set(ready)
            self._change(ChangeKind.REVOKED, removed=ready, cause=cause)

    def _change(
        self,
        kind: ChangeKind,
        *,
        added: Iterable[Claim] = (),
        kept: Iterable[Claim] = (),
        removed: Iterable[Claim] = (),
        cause: Cause,
    ) -> None:
        generation = None if kind is ChangeKind.LOST else Generation("g", 1, "m")
        self._changes.append(
            OwnershipChange(
                kind,
                tuple(added),
                tuple(kept),
                tuple(removed),
                cause,
                generation,
                next(self._numbers),
            )
        )
        self._news.notify()


class Makes:
    """Makes a `MemoryBackend` for a consumer, and remembers it for the test."""

    def __init__(self) -> None:
        self.made: MemoryBackend | None = None

    def __call__(self, config: ConsumerConfig, cluster: Cluster, sink: Sink) -> MemoryBackend:
        self.made = MemoryBackend(cluster)
        return self.made
