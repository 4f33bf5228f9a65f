"""A query's member of its group, and what it asks of the cluster; on an event loop.

Decides: how a change of ownership waits for the batch in hand: its partitions stay claimed until
the batch is over or the group waits no longer; what was asked to be committed is answered first.
Never: fetches records; plans a batch (`query` does); joins before it is asked to.
KIPs: 62, 345, 429, 848.
"""

import logging
import math
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kgroup.backends.backend import GroupBackend
from kgroup.backends.choice import configured
from kgroup.backends.topics import SubscribedTopics
from kgroup.config import ConsumerConfig
from kgroup.consumer.assembly import member_started, open_sink
from kgroup.consumer.fetch.logs import Logs
from kgroup.consumer.ownership import ownership_step
from kgroup.errors import GroupError, KGroupError
from kgroup.journal import (
    Delivered,
    Done,
    MemberStopped,
    OffsetRead,
    Phase,
    PositionMove,
    PositionMoved,
)
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import OffsetSpec
from kgroup.net.metadata import ClusterView
from kgroup.net.ports import Notifier, system_ports
from kgroup.spark.offsets import Span
from kgroup.spark.positions import Sighting
from kgroup.types import (
    Backend,
    ChangeKind,
    Claim,
    GroupProtocol,
    Leave,
    MemberState,
    OffsetAndMetadata,
    OwnershipChange,
    Subscription,
    TopicPartition,
)

log = logging.getLogger(__name__)

_LEAVING: Final = 5.0
_POLL_EVERY: Final = 1.0
_QUIET: Final = 0.5
"""Seconds without a change after which a claiming member has what it will have at once."""
_SOON: Final = 0.01
_FIRST: Final = 10.0
"""Seconds in which a newcomer of a KIP-848 group has its first share: two heartbeats."""
_COMMIT: Final = 30.0
_ENDED: Final = frozenset({MemberState.LEFT, MemberState.FENCED, MemberState.FAILED})


class Member:
    """The member of a query's group; of a query in none, what asks the cluster.

    Args:
        config: the consumer's options; without a group id nothing is joined.
    """

    def __init__(self, config: ConsumerConfig) -> None:
        self._config = config
        self._ports = config.ports or system_ports()
        self._sink, self._file = open_sink(config, self._ports)
        self._cluster = Cluster(config.net(), self._ports)
        self.logs = Logs(self._cluster, config.fetching())
        self._group: GroupBackend | None = None
        if config.group_id is not None:
            self._group = configured(config, self._cluster, self._sink)
        self._failure: Exception | None = None
        self._held: set[Claim] = set()
        self._in_batch: set[Claim] = set()
        self._cut: set[Claim] = set()
        self._lost: OwnershipChange | None = None
        self._commits = 0
        self._tasks: TaskGroup | None = None
        self._asked: dict[Claim, int] = {}
        """What was asked to be committed under each claim, and not refused."""
        self._found: dict[Claim, int] = {}
        """What was committed when each claim was asked about."""
        self._taken: dict[TopicPartition, int] = {}
        self._news = Notifier()
        self._joined = False
        self._changed_at = -math.inf
        self._asked_at = math.inf

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Connect for one block; leave the group at its end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            failure = await self._begin(tasks)
            try:
                if failure is None:
                    yield
            finally:
                await self._end(tasks)
        if failure is not None:
            raise failure  # as it is, and not in a group

    async def _begin(self, tasks: TaskGroup) -> KGroupError | None:
        await tasks.start(self._cluster.run)
        try:
            await self._cluster.bootstrap(self._config.patience)
        except KGroupError as error:
            return error
        if self._group is not None:
            self._sink.emit(member_started(self._config))
            await tasks.start(self._coordinate)
            tasks.start_soon(self._settle, self._group)
            tasks.start_soon(self._poll, self._group)
        return None

    async def _end(self, tasks: TaskGroup) -> None:
        with anyio.CancelScope(shield=True):
            await self._leave()
        tasks.cancel_scope.cancel()
        if self._file is not None:
            self._file.close()

    # -- the cluster -----------------------------------------------------------------------

    async def topics(self, wanted: Subscription, timeout: float) -> ClusterView:
        """Return what the cluster says of the topics that are wanted.

        Raises:
            TimeoutError, KGroupError: no broker answered, or a topic is refused.
        """
        if wanted.pattern is not None:
            view = await self._cluster.look_up(None, timeout)
            found = SubscribedTopics(exclude_internal=self._config.exclude_internal_topics)
            found.ask(wanted)
            names = found.among(view) or frozenset()
        else:
            assigned = frozenset(tp.topic for tp in wanted.partitions or ())
            names = assigned or wanted.topics or frozenset()
        if names:
            await self.logs.find_partitions(names, timeout)
        return await self._cluster.look_up(names, timeout)

    async def ends(self, tps: "set[TopicPartition]", end: OffsetSpec) -> dict[TopicPartition, int]:
        """Return where logs begin or end."""
        found = await self.logs.ends(tps, end, None)
        return {tp: place.offset for tp, place in found.items()}

    async def look(self, held: "frozenset[TopicPartition]", new: "set[TopicPartition]") -> Sighting:
        """Return where logs end, and for partitions that are new, where to go on.

        Raises:
            TimeoutError, KGroupError: somebody could not be asked.
        """
        committed = dict(await self.committed(new)) if self._group is not None and new else {}
        firsts = await self.ends(new, OffsetSpec.EARLIEST) if new else {}
        latest = await self.ends(set(held), OffsetSpec.LATEST) if held else {}
        return Sighting(committed, dict(self._taken), firsts, latest)

    async def committed(
        self, tps: "set[TopicPartition]"
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return what the group has committed; for what is held, nothing below is committed."""
        assert self._group is not None
        found = await self._group.committed(tps, timeout=self._config.fetching().request_timeout)
        known = {claim: found.get(claim.tp) for claim in self._held}
        self._found |= {claim: each.offset for claim, each in known.items() if each is not None}
        return found

    # -- the member ------------------------------------------------------------------------

    async def join(self, wanted: Subscription, timeout: float) -> bool:
        """Join, if that was not done yet; tell whether it is known what this member owns.

        Raises:
            KGroupError: why the membership has ended.
        """
        assert self._group is not None
        self._check()
        if not self._joined:
            self._joined = True
            self._asked_at = anyio.current_time()
            self._group.subscribe(wanted)
        with anyio.move_on_after(timeout):
            while not self._is_settled() or self._is_claiming() or self._awaits_share():
                self._check()
                # A change that is carried out, and a heartbeat's answer, are no news of the group.
                with anyio.move_on_after(_SOON):
                    await self._group.membership_changed(self._group.membership)
        return self._is_settled()

    def _is_claiming(self) -> bool:
        """Tell whether more may come at once: there is no round, and claims come one by one."""
        assert self._group is not None
        quiet_for = anyio.current_time() - self._changed_at
        may = self._group.membership.rebalances == 0 or quiet_for < _QUIET
        return may and self._config.backend is Backend.MARSHAL

    def _awaits_share(self) -> bool:
        """Tell whether a share may come, although all that was given is owned.

        A coordinator that divides may answer a newcomer with nothing: others give up first, or the
        last division is less than a second old (KIP-848).
        """
        young = anyio.current_time() < self._asked_at + _FIRST
        return young and not self._held and self._config.group_protocol is GroupProtocol.CONSUMER

    def _is_settled(self) -> bool:
        """Tell whether a round is over, and all that it gave may be read."""
        return self._is_calm() and len(self._usable()) == len(self._kept(self._held))

    def _is_calm(self) -> bool:
        assert self._group is not None
        membership = self._group.membership
        calm = membership.state is MemberState.STABLE
        return calm and self._kept(membership.claims) <= self._held

    def _kept(self, claims: Iterable[Claim]) -> set[Claim]:
        assert self._group is not None
        draining = self._group.membership.draining
        return {claim for claim in claims if claim.tp not in draining}

    def _usable(self) -> list[Claim]:
        assert self._group is not None
        return [claim for claim in self._kept(self._held) if self._group.may_deliver(claim)]

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def held(self) -> dict[TopicPartition, Claim]:
        """Return the claims of which records may be read now.

        Raises:
            KGroupError: why the membership has ended.
        """
        self._check()
        return {claim.tp: claim for claim in self._usable()}

    async def fences(self) -> dict[TopicPartition, int]:
        """Return what fences the owner of each partition: rising with each (Marshal)."""
        assert self._group is not None
        tokens = {claim.tp: self._group.token(claim) for claim in self._held}
        return {tp: each.generation_id for tp, each in tokens.items() if each is not None}

    async def begin(self, places: Mapping[Claim, tuple[OffsetAndMetadata | None, int]]) -> None:
        """Note where claims that are new begin.

        Args:
            places: claim -> what was committed, and the first offset of its first batch.
        """
        for claim, (committed, offset) in places.items():
            read = None if committed is None else committed.offset
            self._sink.emit(OffsetRead(claim, read))
            if read != offset:
                move = PositionMove.RESET if committed is None else PositionMove.SEEK
                self._sink.emit(PositionMoved(claim, offset, move))

    async def begin_batch(self, spans: Mapping[Claim, Span]) -> None:
        """Take claims in hand: a round goes on, and they stay until the batch is over."""
        assert self._group is not None
        self._group.note_poll()
        for claim, (begin, end) in spans.items():
            if claim in self._held:
                self._group.taken(claim)
                self._in_batch.add(claim)
                self._sink.emit(Delivered(claim, begin, end - 1, end - begin))

    async def end_batch(self) -> tuple[OwnershipChange | None, frozenset[TopicPartition]]:
        """Let the claims of the batch go.

        Returns:
            How the membership was lost since the last call, None when it was not; and partitions
            that the group did not wait for.
        """
        assert self._group is not None
        in_batch, self._in_batch = self._in_batch, set()
        for claim in in_batch:
            self._group.drained(claim)
        self._group.note_poll()
        lost, self._lost = self._lost, None
        cut, self._cut = self._cut, set()
        return lost, frozenset(claim.tp for claim in cut)

    async def commit_soon(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> None:
        """Commit under claims, beside the next batch, what was not committed or asked for yet.

        A change of ownership waits for the answer. What others have committed stays theirs: by its
        own mark a query would take its checkpoint for the better place.
        """
        assert self._tasks is not None
        wanted = {
            claim: offset
            for claim, offset in offsets.items()
            if claim in self._held
            and offset.offset > max(self._asked.get(claim, -1), self._found.get(claim, -1))
        }
        if wanted:
            self._asked.update({claim: offset.offset for claim, offset in wanted.items()})
            self._commits += 1
            for claim, offset in wanted.items():
                self._sink.emit(Done(claim, offset.offset))
            self._tasks.start_soon(self._commit, wanted)

    async def _commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> None:
        assert self._group is not None
        failed, why = {claim.tp for claim in offsets}, "no answer in time"
        try:
            with anyio.move_on_after(_COMMIT):
                outcome = await self._group.commit(offsets)
                failed, why = set(outcome.failed()), repr(outcome)
        except KGroupError as error:
            why = str(error)
        finally:
            for claim, offset in offsets.items():
                if claim.tp in failed:
                    self._asked.pop(claim, None)  # the next trigger asks again
                else:
                    self._taken[claim.tp] = offset.offset
            self._commits -= 1
            self._news.notify()
        if failed:
            log.warning("a commit of the query was not taken: %s", why)

    async def _commits_answered(self) -> None:
        while self._commits:
            await self._news.wait()

    # -- in the background -----------------------------------------------------------------

    async def _coordinate(self, *, task_status: TaskStatus[None]) -> None:
        assert self._group is not None
        try:
            await self._group.run(task_status=task_status)
        except KGroupError as error:
            log.warning("the membership of the query has ended: %s", error)
            self._failure = error
        else:
            self._failure = self._failure or GroupError("the member has left the group")

    async def _settle(self, group: GroupBackend) -> None:
        """Carry changes of ownership out, one after the other."""
        while True:
            change = await group.next_change()
            self._sink.emit(ownership_step(change, Phase.BEGIN))
            match change.kind:
                case ChangeKind.ASSIGNED:
                    self._held.update(change.added)
                case ChangeKind.REVOKED:
                    await self._commits_answered()
                    self._forget(change)
                case ChangeKind.LOST:
                    self._forget(change)
                    if change.removed:
                        self._lost = change
            self._sink.emit(ownership_step(change, Phase.END))
            self._changed_at = anyio.current_time()
            log.info("partitions %s: %s", change.kind.value, change.cause.value)
            group.settled(change)

    def _forget(self, change: OwnershipChange) -> None:
        self._held.difference_update(change.removed)
        for claim in change.removed:
            self._asked.pop(claim, None)
            self._found.pop(claim, None)
        self._cut.update(self._in_batch.intersection(change.removed))
        self._in_batch.difference_update(change.removed)

    async def _poll(self, group: GroupBackend) -> None:
        """Say that the application is alive while no batch runs; a batch has its own limit."""
        while True:
            if not self._in_batch:
                group.note_poll()
            await anyio.sleep(min(_POLL_EVERY, self._config.poll_interval / 4))

    async def _leave(self) -> None:
        if self._group is None or self._group.membership.state in _ENDED:
            return
        with anyio.move_on_after(_LEAVING):
            await self._commits_answered()
        for claim in self._in_batch:
            self._group.drained(claim)
        why, static = "the query has ended", self._config.group_instance_id is not None
        said = await self._group.leave(Leave.DEFAULT, why, timeout=_LEAVING)
        self._sink.emit(MemberStopped(why, left=said and not static, mode=Leave.DEFAULT))
