"""The backend of KIP-848: a group whose coordinator divides the partitions.

Decides: how the calls of `GroupBackend` become events of the machine.
Never: holds state of the group; the machine does, and the conductor is its only writer.
KIPs: 62, 345, 848.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.commit_journal import InHand
from kgroup.backends.commit_queue import CommitQueue
from kgroup.backends.conductor import Conductor
from kgroup.backends.consumer_group.effects import (
    ConsumerGroupConductor,
    ConsumerGroupEffects,
    ConsumerGroupMachine,
)
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.backends.topics import SubscribedTopics, to_watch, watch_metadata
from kgroup.consumer_group.events import TopicsNamed
from kgroup.consumer_group.settings import ConsumerGroupSettings
from kgroup.consumer_group.states import FACTS
from kgroup.consumer_group.value import ConsumerGroupMember
from kgroup.errors import UnsupportedError
from kgroup.journal import Sink
from kgroup.machine.backoff import Backoff
from kgroup.machine.reactions import Reaction
from kgroup.machine.wishes import (
    CloseRequested,
    CommitRejected,
    Drained,
    ListenerDone,
    Polled,
    Subscribed,
    Unsubscribed,
)
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

_SHARE_FOR_RELEASE: Final = 0.8
"""Part of a close timeout in which listeners and batches are waited for; the rest is for the
farewell."""


class ConsumerGroupBackend:
    """One member of a KIP-848 group; implements `backend.GroupBackend`.

    Args:
        settings: of the member.
        cluster: connections, clock and dice; not owned.
        sink: takes the journal's events.
        exclude_internal_topics: whether a pattern leaves out topics of the brokers.
        pattern_on_broker: whether the coordinator matches patterns.
    """

    def __init__(
        self,
        settings: ConsumerGroupSettings,
        cluster: Cluster,
        sink: Sink,
        *,
        exclude_internal_topics: bool = True,
        pattern_on_broker: bool = False,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        machine = ConsumerGroupMachine(settings, sink)
        self._conductor: ConsumerGroupConductor = Conductor(machine, cluster.ports)
        self._conductor.on_move = self._on_move
        self._effects = ConsumerGroupEffects(settings, cluster, self._conductor.apply)
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
        self._pattern_on_broker = pattern_on_broker
        self._pattern: str | None = None
        self._seen: ClusterView | None = None

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Do the background work until the member has left.

        Raises:
            GroupError: the membership ended for good.
            BrokerError: the coordinator refused for good.
            UnsupportedVersionError: the broker does not offer this protocol.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch_metadata, self._cluster, self._resolve)
                tasks.start_soon(self._commits.run)
                task_status.started()
                await self._conductor.run(self._effects)
                tasks.cancel_scope.cancel()
        finally:
            self._commits.give_up("the member is not in the group any more")
        if self._conductor.failure is not None:
            raise self._conductor.failure

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """Give everything up and leave; tell whether the coordinator was told.

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
        """Whether exact partitions are asked of the group: its coordinator divides topics."""
        return False

    def pulse(self) -> Pulse:
        """Return until when its claims are proved, and when a heartbeat proved them last."""
        member = self._conductor.member
        until, lease = self._conductor.held_until(), member.lease
        return Pulse(until, lease.confirmed_at, lease.longest, member.interval)

    @property
    def trouble(self) -> Exception | None:
        """What the coordinator does not permit at present, None while it permits everything."""
        return self._conductor.member.trouble

    # -- what is asked for -----------------------------------------------------------------

    def subscribe(self, subscription: Subscription | None) -> None:
        """Ask for topics or a pattern; None gives everything up.

        Raises:
            UnsupportedError: the coordinator is to match a pattern, and names to be left out.
        """
        self._pattern = self._for_coordinator(subscription)
        self._topics.ask(subscription)
        if subscription is None:
            self._conductor.apply(Unsubscribed())
            return
        if subscription.pattern is not None:
            # All topics may be known already, but there may be new ones since.
            self._cluster.invalidate()
        self._cluster.watch(to_watch(subscription))
        self._resolve(self._cluster.view)

    def _for_coordinator(self, subscription: Subscription | None) -> str | None:
        if subscription is None or not self._pattern_on_broker:
            return None
        if subscription.exclude is not None:
            raise UnsupportedError("pattern_on='broker' leaves out no names: exclude has no effect")
        return subscription.pattern

    def enforce_rebalance(self, reason: str) -> None:
        """Refuse: there are no rounds, and the coordinator divides when it wants to.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(f"a group of KIP-848 has no rounds to begin ({reason})")

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
            self._commits.end(change.removed)  # a heartbeat without them may be next
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
        """Return the member's identity: epochs fence all claims alike."""
        del claim
        return self._conductor.snapshot().generation

    async def admit(self, claim: Claim, until: int) -> bool:
        """Such groups are at-least-once: the gate alone decides."""
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

        Asked as the member that it is at that moment, so that a stale one hears of it.

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
            Asker(self._settings.group_id, self._identity),
            tuple(sorted(partitions)),
            coordinator,
            whole=whole,
            timeout=timeout,
        )

    def _identity(self) -> Generation | None:
        return self._conductor.member.identity.generation

    def _not_coordinator(self, node_id: int | None, code: int) -> None:
        """Have the coordinator looked for: a broker that was asked said that it is not the one."""
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

        1. An assignment is taken; 2. records arrive, and wait; 3. the acknowledgement is answered:
        from now on they may be handed out, which no snapshot shows.
        """
        before = self._conductor.member
        while (snapshot := self._conductor.snapshot()) == seen:
            now = self._conductor.member
            heard = now.assigned.acknowledged == before.assigned.acknowledged
            if not heard or now.lease.proved is not before.lease.proved:
                break
            await self._conductor.moved()
        return snapshot

    # -- what follows a step ---------------------------------------------------------------

    def _on_move(self, member: ConsumerGroupMember) -> None:
        self._in_hand.look(member.holdings)

    def _resolve(self, view: ClusterView) -> None:
        if view is not self._seen:
            self._seen = view
            ids = {
                topic.topic_id: name
                for name, topic in view.topics.items()
                if topic.topic_id is not None
            }
            self._conductor.apply(TopicsNamed(MappingProxyType(ids)))
        if self._pattern is not None:
            self._conductor.apply(Subscribed(frozenset(), self._pattern))
            return
        topics = self._topics.among(view)
        if topics is not None:
            self._conductor.apply(Subscribed(topics))
