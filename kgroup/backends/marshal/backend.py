"""The Marshal backend: a group that coordinates by claims written to a log.

Decides: how the calls of `GroupBackend` become events of the machine.
Never: holds state of the group; the machine does, and the conductor is its only writer.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.classic.leading import partition_counts
from kgroup.backends.commit_journal import CommitJournal, CommitTelling, InHand
from kgroup.backends.conductor import Conductor
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.marshal.appender import Appender, AppenderSettings
from kgroup.backends.marshal.effects import (
    MarshalConductor,
    MarshalEffects,
    MarshalMachine,
    Waiters,
    held_topics,
    outcomes_of,
)
from kgroup.backends.marshal.entrance import enter, watch_native
from kgroup.backends.marshal.followed_log import LogEvent
from kgroup.backends.marshal.log_reader import LogReader, ReaderSettings
from kgroup.backends.marshal.offset_commits import OffsetCommits
from kgroup.backends.marshal.positions import MarshalPlace, Positions
from kgroup.backends.marshal.start_positions import StartPositions
from kgroup.backends.marshal.trace import Rejects
from kgroup.backends.topics import SubscribedTopics, to_watch, watch_metadata
from kgroup.errors import KGroupError, UnsupportedError
from kgroup.journal import Sink
from kgroup.machine.wishes import (
    CloseRequested,
    Drained,
    ListenerDone,
    Polled,
    Subscribed,
    Unsubscribed,
)
from kgroup.marshal.events import (
    AdmitRequested,
    Admitted,
    Assigned,
    CommitRequested,
    Committed,
    CountsChanged,
    LogLost,
)
from kgroup.marshal.member import MarshalMember
from kgroup.marshal.rules import Guarantee, MarshalSettings
from kgroup.net.cluster import Cluster, ClusterView
from kgroup.observe.vitals import Pulse
from kgroup.types import (
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

log = logging.getLogger("kgroup.marshal")

_SHARE_FOR_RELEASE: Final = 0.7
"""Part of a close timeout in which listeners and batches are waited for; the rest is for
releases to be read back."""

_FAREWELL: Final = 1.0
"""Seconds in which what was said last is sent; nothing depends on it."""


class MarshalBackend:
    """One member of a Marshal group; implements `backend.GroupBackend`.

    Args:
        settings: of the member.
        place: where it coordinates.
        cluster: connections, clock and dice; not owned.
        sink: takes the journal's events.
    """

    def __init__(
        self, settings: MarshalSettings, place: MarshalPlace, cluster: Cluster, sink: Sink
    ) -> None:
        self._settings = settings
        self._place = place
        self._cluster = cluster
        machine = MarshalMachine(settings, sink)
        self._conductor: MarshalConductor = Conductor(machine, cluster.ports)
        self._conductor.on_move = self._on_move
        self._search = CoordinatorSearch(
            cluster, settings.group_id, timeout=place.timeout, pause=place.retry_backoff
        )
        reading = ReaderSettings(
            group_id=settings.group_id,
            topic=place.topic,
            interval=float(settings.interval),
            compat=place.compat,
            writes=True,
        )
        self._rejects = Rejects(sink, cluster.ports.clock)
        self._reader = LogReader(reading, cluster, self._hear_log)
        who = AppenderSettings(
            settings.group_id, settings.client_id, settings.instance_id, place.topic
        )
        self._appender = Appender(who, cluster, self._reader.partition_of, self._conductor.apply)
        self._waiters = Waiters()
        self._in_hand = InHand(lambda claims: self._conductor.apply(Drained(claims)))
        self._journal = CommitJournal(sink)
        self._admitting: dict[TopicPartition, anyio.Event] = {}
        self._topics = SubscribedTopics(exclude_internal=place.exclude_internal_topics)
        self._asked = self._followed = frozenset[str]()
        self._commits = OffsetCommits(
            cluster, settings.group_id, self._search, self._conductor.apply, may=self._may_commit
        )
        self._positions = Positions(self._conductor, cluster, settings.group_id, self._search)

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Do the background work until the member has left.

        Raises:
            GroupError: the membership ended for good.
            CoordinationTopicError: the coordination topic is missing, or is not what it was.
            BrokerError: a broker refused for good.
        """
        effects = self._effects()
        try:
            task_status.started()
            await self._enter()  # in no group of tasks: what it raises comes out as it is
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch_metadata, self._cluster, self._resolve)
                group_id, tell = self._settings.group_id, self._conductor.apply
                tasks.start_soon(watch_native, self._cluster, group_id, tell)
                tasks.start_soon(self._commits.run)
                await tasks.start(self._appender.run)
                tasks.start_soon(self._read)
                await self._conductor.run(effects)
                with anyio.move_on_after(_FAREWELL):
                    await self._appender.sent()
                tasks.cancel_scope.cancel()
        finally:
            self._waiters.end()
        if self._conductor.failure is not None:
            raise self._conductor.failure

    async def _enter(self) -> None:
        """Look whether this member may begin; brokers that are away for now end nothing."""
        while True:
            try:
                found = await enter(self._cluster, self._settings, self._place, self._search)
            except TimeoutError as error:
                log.warning("group=%s cannot begin yet: %s", self._settings.group_id, error)
                continue
            self._reader.expect(append_time=found.append_time)
            return

    def _hear_log(self, event: LogEvent) -> None:
        view = self._reader.views.get(event.partition)
        if view is not None:
            self._rejects.look(self._reader.topic.tp(event.partition), view)
        self._conductor.apply(event)

    async def _read(self) -> None:
        while self._conductor.failure is None:
            try:
                await self._reader.run()
            except TimeoutError as error:
                log.warning("group=%s cannot read yet: %s", self._settings.group_id, error)
            except KGroupError as error:
                # The owners are no longer known: all is lost, and the listener hears so.
                self._conductor.apply(LogLost(0, str(error), error))

    def _effects(self) -> MarshalEffects:
        positions = StartPositions(
            self._cluster,
            self._settings.group_id,
            self._search,
            self._place.reset_policy,
            isolation=self._place.isolation,
            recall=self._reader.recall,
        )
        return MarshalEffects(
            self._appender,
            positions,
            self._commits,
            self._waiters,
            self._conductor.apply,
            timeout=self._place.timeout,
        )

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """Give everything up and leave; idempotent, bounded by `timeout`, shielded.

        With `Leave.REMAIN` nothing is released: a process that starts again within the lease under
        the same instance id resumes it.
        """
        if self._is_over():
            return self._conductor.finished
        now = self._conductor.now
        if self._conductor.member.wishes.closing is None:
            release_by = now + timeout * _SHARE_FOR_RELEASE
            self._conductor.apply(CloseRequested(mode, reason, release_by, now + timeout))
        with anyio.move_on_after(timeout, shield=True):
            while not self._is_over():
                await self._conductor.moved()
        return self._conductor.finished

    def _is_over(self) -> bool:
        return self._conductor.finished or self._conductor.failure is not None

    @property
    def takes_partitions(self) -> bool:
        """Whether exact partitions are asked of the group: here they are claimed like any."""
        return True

    def pulse(self) -> Pulse:
        """Return until when its claims are proved; each has heartbeats of its own."""
        settings = self._settings
        longest = min(settings.ttl, settings.rebalance_timeout) - settings.ttl / 8
        return Pulse(self._conductor.held_until(), lease=longest)

    @property
    def trouble(self) -> Exception | None:
        """What is not possible at present, None while everything is."""
        return self._conductor.member.trouble_of_reads

    def _may_commit(self, tp: TopicPartition) -> bool:
        return self._conductor.member.may_commit(tp, self._conductor.now)

    # -- what is asked for -----------------------------------------------------------------

    def subscribe(self, subscription: Subscription | None) -> None:
        """Ask for topics, a pattern, or exact partitions; None gives everything up."""
        self._topics.ask(subscription)
        if subscription is None:
            self._conductor.apply(Unsubscribed())
            return
        if subscription.pattern is not None:
            # All topics may be known already, but there may be new ones since.
            self._cluster.invalidate()
        self._cluster.watch(to_watch(subscription))
        if subscription.partitions is not None:
            self._follow(frozenset(tp.topic for tp in subscription.partitions))
            self._conductor.apply(Assigned(subscription.partitions))
        self._resolve(self._cluster.view)

    def enforce_rebalance(self, reason: str) -> None:
        """Refuse: there are no rounds.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(f"a group that claims has no rounds to begin ({reason})")

    def note_poll(self) -> None:
        """Say that the application has asked for records."""
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
        """Return what fences a claim: the offset of its record; a later owner's is higher."""
        epoch = self._conductor.member.life(claim.tp).epoch
        if epoch is None:
            return None
        settings = self._settings
        who = f"{settings.client_id}/{settings.instance_id}"
        static = settings.client_id if settings.is_static else None
        return Generation(settings.group_id, epoch, who, static)

    async def admit(self, claim: Claim, until: int) -> bool:
        """At most once: commit the end of a batch and publish it, before it is handed out."""
        if not self.may_deliver(claim):
            return False
        if self._settings.guarantee is Guarantee.AT_LEAST_ONCE:
            return True
        if self._conductor.member.life(claim.tp).publishes(until):
            return True  # without a wait: a reader that has no time gets it, too
        # 1. A reader asks, and is cancelled; 2. the machine goes on; 3. the next one asks. One
        # question of a key at a time; what was admitted for another is admitted at once.
        while (asked := self._admitting.get(claim.tp)) is not None and not asked.is_set():
            await asked.wait()
        serial = self._waiters.draw()
        self._admitting[claim.tp] = self._waiters.event(serial)
        self._conductor.apply(AdmitRequested(serial, claim, until))
        answer = await self._waiters.wait(serial, Admitted)
        return answer is not None and answer.admitted

    # -- offsets ---------------------------------------------------------------------------

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Write positions to the log, and wait until they were read back."""
        takes = self._settings.guarantee is Guarantee.AT_LEAST_ONCE
        asks = self._conductor.member.holdings.claims if takes else frozenset()
        with self._journal.begun(offsets, asks=asks) as telling:
            return await self._publish(offsets, telling)

    async def _publish(
        self, offsets: Mapping[Claim, OffsetAndMetadata], telling: CommitTelling
    ) -> CommitOutcome:
        serial = self._waiters.draw(lambda answer: telling.end(outcomes_of(offsets, answer)))
        asked = {claim: each.offset for claim, each in offsets.items()}
        self._conductor.apply(CommitRequested(serial, asked))
        answer = await self._waiters.wait(serial, Committed)
        if answer is None:
            reason = "the member is not in the group any more"
            answer = Committed(serial, dict.fromkeys(offsets, reason), unknown=True)
        outcomes = outcomes_of(offsets, answer)
        telling.end(outcomes)
        return CommitOutcome(outcomes)

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the positions of the log; where it knows none, those of the group coordinator.

        Raises:
            BrokerError: the coordinator refused.
            TimeoutError: the log was not read, or no coordinator answered, in time.
        """
        return await self._positions.committed(partitions, timeout=timeout, whole=whole)

    # -- snapshots -------------------------------------------------------------------------

    @property
    def membership(self) -> Membership:
        """The present snapshot."""
        return self._conductor.snapshot()

    async def membership_changed(self, seen: Membership) -> Membership:
        """Wait until the snapshot differs from `seen`, or records flow that did not."""
        before = self._conductor.member.flowing
        while (snapshot := self._conductor.snapshot()) == seen:
            if self._conductor.member.flowing is not before:
                break
            await self._conductor.moved()
        return snapshot

    # -- what follows a step ---------------------------------------------------------------

    def _on_move(self, member: MarshalMember) -> None:
        if self._followed != self._asked:
            self._follow(self._asked)
        self._in_hand.look(member.holdings)

    def _resolve(self, view: ClusterView) -> None:
        topics = self._topics.among(view)
        if topics is not None:
            self._follow(topics)
            self._conductor.apply(Subscribed(topics))
        self._conductor.apply(CountsChanged(partition_counts(view, view.topics)))

    def _follow(self, asked: frozenset[str]) -> None:
        """Have the claims of topics read: those asked for, and others while they are needed.

        Without their log no key can be given up, for each commit, and the release, is read back;
        and nobody could tell whether a position that the group coordinator has not taken yet is
        still ours to move.
        """
        needed = held_topics(self._conductor.member) | self._commits.topics
        self._asked, followed = asked, asked | needed
        if followed != self._followed:
            self._followed = followed
            self._reader.follow(followed)
            for topic in asked:
                self._appender.expect(topic)
