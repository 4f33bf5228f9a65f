"""The classic backend: a group coordinated by JoinGroup, SyncGroup and Heartbeat.

Decides: how the calls of `GroupBackend` become events of the membership machine.
Never: holds state of the group; the machine does, and the conductor is its only writer.
KIPs: 62, 345, 394, 429, 568, 800, 814.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.classic.effects import ClassicConductor, ClassicEffects, ClassicMachine
from kgroup.backends.classic.interest import TopicInterest
from kgroup.backends.classic.leading import Leading, partition_counts
from kgroup.backends.classic.second import Second
from kgroup.backends.commit_journal import InHand
from kgroup.backends.commit_queue import CommitQueue
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.backends.topics import SubscribedTopics, to_watch, watch_metadata
from kgroup.errors import KGroupError
from kgroup.journal import Sink
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction
from kgroup.membership.events import (
    CloseRequested,
    CommitRejected,
    Drained,
    EnforceRebalance,
    ListenerDone,
    MetadataChanged,
    Polled,
    Subscribed,
    Unsubscribed,
)
from kgroup.membership.settings import MembershipSettings
from kgroup.membership.states import FACTS
from kgroup.membership.value import GroupMember
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.observe.vitals import Pulse
from kgroup.types import (
    ChangeKind,
    Claim,
    CommitOutcome,
    Generation,
    Leave,
    Membership,
    OffsetAndMetadata,
    OwnershipChange,
    Subscription,
    TopicPartition,
)

log = logging.getLogger(__name__)

_SHARE_FOR_RELEASE = 0.8
"""Part of a close timeout in which listeners and batches are waited for; the rest is for
LeaveGroup."""
_LOOK_FOR_TOPICS = 1.0
"""Longest a round waits for the names of all topics, which a pattern may take."""


class ClassicBackend:
    """One member of a classic group; implements `backend.GroupBackend`.

    Args:
        settings: of the member.
        cluster: connections, clock and dice; not owned.
        sink: takes the journal's events.
        exclude_internal_topics: whether a pattern leaves out topics of the brokers.
        isolated_heartbeats: whether a thread keeps the session while the loop is blocked.
    """

    def __init__(
        self,
        settings: MembershipSettings,
        cluster: Cluster,
        sink: Sink,
        *,
        exclude_internal_topics: bool = True,
        isolated_heartbeats: bool = False,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._interest = TopicInterest(cluster)
        self._conductor = ClassicConductor(ClassicMachine(settings, sink), cluster.ports)
        self._conductor.on_move = self._on_move
        self._second = Second(settings, cluster) if isolated_heartbeats else None
        if self._second is not None:
            self._conductor.lend, self._conductor.heard = self._second.lend, self._second.heard
        leading = Leading(cluster, self._interest, settings)
        self._effects = ClassicEffects(
            settings, cluster, leading, self._conductor.apply, self._look_for_topics
        )
        self._commits = CommitQueue(
            self._conductor,
            cluster,
            sink,
            timeout=settings.request_timeout,
            backoff=Backoff(settings.retry_backoff, settings.retry_backoff_max),
        )
        self._search = CoordinatorSearch(
            cluster,
            settings.group_id,
            timeout=settings.request_timeout,
            pause=settings.retry_backoff,
        )
        self._in_hand = InHand(lambda claims: self._conductor.apply(Drained(claims)))
        self._topics = SubscribedTopics(exclude_internal=exclude_internal_topics)

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Do the background work until the member has left.

        Raises:
            GroupError: the membership ended for good.
            BrokerError: the coordinator refused for good.
        """
        try:
            if self._second is not None:
                self._second.start()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch_metadata, self._cluster, self._resolve)
                tasks.start_soon(self._commits.run)
                task_status.started()
                await self._conductor.run(self._effects)
                tasks.cancel_scope.cancel()
        finally:
            self._commits.give_up("the member is not in the group any more")
            if self._second is not None:
                await self._second.stop()
        if self._conductor.failure is not None:
            raise self._conductor.failure

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """Give everything up and leave; tell whether a LeaveGroup was sent.

        Idempotent, bounded by `timeout`, shielded.
        """
        if self._conductor.finished:
            return self._effects.said_goodbye
        now = self._conductor.now
        release_by = now + timeout * _SHARE_FOR_RELEASE
        if self._conductor.member.wishes.closing is None:
            self._conductor.apply(CloseRequested(mode, reason, release_by, now + timeout))
        with anyio.move_on_after(timeout, shield=True):
            while not self._conductor.finished:
                await self._conductor.moved()
        return self._effects.said_goodbye

    @property
    def failure(self) -> Exception | None:
        """What ended the membership for good, None while nothing did."""
        return self._conductor.failure

    @property
    def takes_partitions(self) -> bool:
        """Whether exact partitions are asked of the group: its leader divides topics, no less."""
        return False

    def pulse(self) -> Pulse:
        """Return until when its claims are proved, and when a heartbeat proved them last."""
        member = self._conductor.member
        until, lease = self._conductor.held_until(), member.lease
        return Pulse(until, lease.confirmed_at, lease.longest, self._settings.heartbeat_interval)

    @property
    def trouble(self) -> Exception | None:
        """What the coordinator does not permit at present, None while it permits everything."""
        return self._conductor.member.trouble

    # -- what is asked for -----------------------------------------------------------------

    def subscribe(self, subscription: Subscription | None) -> None:
        """Ask for topics or a pattern; None gives everything up."""
        self._topics.ask(subscription)
        if subscription is None:
            self._conductor.apply(Unsubscribed())
            return
        if subscription.pattern is not None:
            # All topics may be known already, but there may be new ones since.
            self._cluster.invalidate()
        self._interest.subscribe(to_watch(subscription))
        self._resolve(self._cluster.view)

    def enforce_rebalance(self, reason: str) -> None:
        """Ask for a new round (KIP-568)."""
        self._conductor.apply(EnforceRebalance(reason))

    def note_poll(self) -> None:
        """Say that the application has asked for records (KIP-62)."""
        self._conductor.apply(Polled())

    # -- ownership -------------------------------------------------------------------------

    async def next_change(self) -> OwnershipChange:
        """Wait for the next change; the same one until it is settled. Cancel-safe."""
        while not self._conductor.member.changes:
            await self._conductor.moved()
        return self._conductor.member.changes[0]

    def settled(self, change: OwnershipChange, *, failed: bool = False) -> None:
        """Say that the listener has returned; one that raised changes ownership all the same."""
        del failed
        if change.kind is ChangeKind.REVOKED:
            self._commits.end(change.removed)  # a JoinGroup without them may be next
        self._conductor.apply(ListenerDone(change.serial))

    def taken(self, claim: Claim) -> None:
        """Say that records of this claim are now in the application's hands."""
        self._in_hand.take(claim)

    def drained(self, claim: Claim) -> None:
        """Say that no record of this claim is in the application's hands any more."""
        self._in_hand.put_down(claim)
        self._on_move(self._conductor.member)

    def may_deliver(self, claim: Claim) -> bool:
        """Tell whether records may be handed out under this claim now."""
        return self._conductor.may_deliver(claim)

    def token(self, claim: Claim) -> Generation | None:
        """Return the member's identity: generations fence all claims alike."""
        del claim
        return self._conductor.snapshot().generation

    async def admit(self, claim: Claim, until: int) -> bool:
        """Classic groups are at-least-once: the gate alone decides."""
        del until
        return self.may_deliver(claim)

    # -- offsets ---------------------------------------------------------------------------

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Commit positions under their claims, in order of submission."""
        return await self._commits.commit(offsets)

    def submit_commit(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        heard: Callable[[CommitOutcome], None],
    ) -> None:
        """Queue positions under their claims; see `backend.QueueingBackend`."""
        self._commits.submit(offsets, heard)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed positions; None where nothing is committed.

        A member that looks for its coordinator knows best; one that does not, because it is in
        no group now, has it looked for.

        Raises:
            BrokerError: the coordinator refused.
            TimeoutError: no coordinator answered in time.
        """
        outside = self._search.asker()
        asked: int | None = None

        async def coordinator(moved: int) -> int:
            nonlocal asked
            if moved:
                self._not_coordinator(asked, moved)
            while FACTS[self._conductor.member.state].seeks:
                asked = self._conductor.member.coordinator.node_id
                if asked is not None:
                    return asked
                await self._conductor.moved()
            return await outside(moved)

        return await read_committed_offsets(
            self._cluster,
            Asker(self._settings.group_id),
            tuple(sorted(partitions)),
            coordinator,
            whole=whole,
            timeout=timeout,
        )

    def _not_coordinator(self, node_id: int | None, code: int) -> None:
        """Have the coordinator looked for: a broker that was asked said that it is not the one.

        1. It is asked; 2. a heartbeat says the same, and the next one is found; 3. the answer to
        the question comes: it is not about the one that is known now.
        """
        member = self._conductor.member
        generation = member.identity.generation
        if generation is not None and node_id == member.coordinator.node_id:
            self._conductor.apply(CommitRejected(Reaction.FIND_COORDINATOR, generation, code))

    # -- snapshots -------------------------------------------------------------------------

    @property
    def membership(self) -> Membership:
        """The present snapshot."""
        return self._conductor.snapshot()

    async def membership_changed(self, seen: Membership) -> Membership:
        """Wait until the snapshot differs from `seen`, or what may be handed out is not the same.

        1. An assignment is adopted; 2. records arrive, and wait; 3. the first heartbeat is
        answered: from now on they may be handed out, which no snapshot shows.
        """
        proved = self._conductor.member.lease.proved
        while (snapshot := self._conductor.snapshot()) == seen:
            if self._conductor.member.lease.proved is not proved:
                break
            await self._conductor.moved()
        return snapshot

    # -- what follows a step ---------------------------------------------------------------

    def _on_move(self, member: GroupMember) -> None:
        self._in_hand.look(member.holdings, whole=member.eager)

    async def _look_for_topics(self) -> None:
        """Ask which topics there are before a round is joined, if a pattern may take new ones.

        Otherwise each new topic costs a round for each member: 1. one member sees it, and joins;
        2. another hears of that round and joins as it is; 3. it sees the topic, and joins again.
        """
        if not self._topics.by_pattern:
            return
        limit = min(_LOOK_FOR_TOPICS, self._settings.heartbeat_interval / 2)
        try:
            found = replace(await self._cluster.look_up(None, limit), asked=None)
        except (KGroupError, TimeoutError) as error:
            log.debug("topics could not be asked before joining: %s", error)
            return
        known = self._topics.among(self._cluster.view) or frozenset()
        fresh = self._topics.among(found) or frozenset()
        if not fresh <= known:
            # What vanished is for the next view of the cluster to say.
            self._conductor.apply(Subscribed(known | fresh))
            self._cluster.invalidate()

    def _resolve(self, view: ClusterView) -> None:
        # The subscription first: a leader whose pattern takes a new topic joins once, with it.
        topics = self._topics.among(view)
        if topics is not None:
            self._conductor.apply(Subscribed(topics))
        counts, places = partition_counts(view, view.topics), self._interest.racks.places(view)
        self._conductor.apply(MetadataChanged(counts, places))
