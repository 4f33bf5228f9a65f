"""Where a claim begins: the committed offset, else the reset policy.

Decides: which broker is asked for the position of each claim, and what an answer means for it. A
new partition (see `logs`) without a committed offset is read from its beginning, whatever the
policy.
Never: resets because of an error: a coordinator or leader that cannot answer is asked again.
KIPs: 79, 516 (topic ids), 1106 (reset by duration).
"""

import logging
from dataclasses import replace
from typing import Final, assert_never

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey, ErrorCode, error_name
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.delivery import Delivery
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned
from kgroup.consumer.fetch.jumps import Jumps
from kgroup.consumer.fetch.logs import TopicHistory
from kgroup.consumer.fetch.validating import Validating
from kgroup.errors import (
    BrokerError,
    KGroupError,
    NoOffsetError,
    ProtocolError,
    TransportError,
    UnauthorizedError,
)
from kgroup.journal import OffsetRead, PositionMove, Sink
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import LeaderSays, ListedOffset, OffsetSpec, ask_leader
from kgroup.offsets.positions import CommittedRead, PositionState, ResetOwed
from kgroup.offsets.reset import LogEnd, LogPlace, Since, after_no_commit
from kgroup.types import OffsetAndMetadata, TopicPartition
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_API: Final = ApiKey.LIST_OFFSETS
_LOOK_AGAIN: Final = 30.0
"""Seconds after which positions are looked at even when nothing woke it."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One position that is looked up, as it stood then, and the leader's epoch."""

    owned: Owned
    seek: int
    leader_epoch: int | None


class Positioning:
    """Gives every claim a position.

    Args:
        settings: reset policy and patience.
        cluster: connections, metadata, clock; not owned.
        delivery: its claims, its ledger and its backend, which knows the committed offsets.
        notifiers: waited for, and fired when a position is known, or an error instead.
        sink: takes the journal's events.

    `jumps` moves its positions, `history` knows its topics.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        delivery: Delivery,
        notifiers: Notifiers,
        sink: Sink,
    ) -> None:
        self.jumps = Jumps(settings, cluster, delivery, notifiers, sink)
        self.history = TopicHistory(cluster, delivery.owned, self.jumps)
        self._settings = settings
        self._cluster = cluster
        self._owned = delivery.owned
        self._ledger = delivery.ledger
        self._gate = delivery.gate
        self._notifiers = notifiers
        self._sink = sink
        self._validating = Validating(
            settings, cluster, delivery.owned, self.history, self.jumps, notifiers
        )
        self._busy: set[int] = set()
        self._fatal: KGroupError | None = None

    async def run(self) -> None:
        """Look for positions until cancelled.

        Raises:
            UnsupportedVersionError: a broker cannot be asked at all.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_committed)
            tasks.start_soon(self._validating.run)
            while self._fatal is None:
                # One instant for both: what is not due in the look must count in the wait.
                now = self._cluster.ports.clock()
                self.history.look()
                self._start_lookups(tasks, now)
                await self._wait(now)
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    def seek(
        self,
        owned: Owned,
        offset: int,
        leader_epoch: int | None = None,
        *,
        until: int | None = None,
    ) -> None:
        """Put a claim at an offset the application chose; with an epoch it is validated first."""
        owned.until = until
        self.jumps.seek(owned, offset, leader_epoch)

    def _waiting(self, state: PositionState, now: float) -> list[Owned]:
        unsettled = self._owned.changes.unsettled
        return [each for each in unsettled if each.position.state is state and each.asks(now)]

    async def _wait(self, now: float) -> None:
        unsettled = self._owned.changes.unsettled
        pauses = [each.retry_at - now for each in unsettled if each.retry_at > now]
        with anyio.move_on_after(min(pauses, default=_LOOK_AGAIN)):
            await self._notifiers.work.wait()

    def _put_off(self, owned: Owned, why: str) -> None:
        settings, now = self._settings, self._cluster.ports.clock()
        owned.put_off(now, settings.retry_backoff, settings.retry_backoff_max, why)

    def _notify(self) -> None:
        self._notifiers.work.notify()
        self._notifiers.news.notify()

    # -- committed offsets -----------------------------------------------------------------

    async def _follow_committed(self) -> None:
        while self._fatal is None:
            now = self._cluster.ports.clock()
            waiting = self._waiting(PositionState.AWAITING_COMMITTED, now)
            if waiting:
                await self._read_committed(waiting)
            else:
                await self._wait(now)

    async def _read_committed(self, waiting: list[Owned]) -> None:
        asked = [(owned, owned.position.seek) for owned in waiting]
        try:
            found = await self._gate.backend.committed(
                [owned.tp for owned in waiting],
                timeout=self._settings.request_timeout,
                whole=False,
            )
        except BrokerError as error:
            # Partitions of other topics are asked for again at once.
            for owned in (each for each in waiting if _is_about(error, each.tp)):
                self._put_off(owned, str(error))
                owned.fail(error, blocked=False)
            self._notify()
            return
        except (TransportError, ProtocolError, TimeoutError) as error:
            log.debug("committed offsets could not be read: %s", error)
            for owned in waiting:
                self._put_off(owned, f"committed offsets could not be read: {error}")
            return
        except KGroupError as error:
            self._fatal = error
            self._notify()
            return
        for owned, seek in asked:
            if owned.tp not in found:
                self._put_off(owned, "the coordinator has no stable offset of it yet")
            elif self._owned.of(owned.claim) is owned:
                self._committed(owned, seek, found[owned.tp])
        self._notify()

    def _committed(self, owned: Owned, seek: int, committed: OffsetAndMetadata | None) -> None:
        before = owned.position
        if before.state is not PositionState.AWAITING_COMMITTED or before.seek != seek:
            return
        generation = self._gate.backend.membership.generation
        number = None if generation is None else generation.generation_id
        offset = None if committed is None else committed.offset
        epoch = None if committed is None else committed.leader_epoch
        self._sink.emit(OffsetRead(owned.claim, offset, number, epoch))
        owned.succeeded()
        if committed is not None:
            owned.position = before.after(CommittedRead(seek, committed))
            owned.led_under(self._cluster.view.leader_epoch(owned.tp))
            self._ledger.begin(
                owned.claim, committed.offset, committed.leader_epoch, committed=True
            )
            return
        self._begin(owned, seek)

    def _begin(self, owned: Owned, seek: int) -> None:
        """Begin where nothing is committed."""
        owned.fresh, owned.move = True, PositionMove.RESET
        place: LogPlace = LogEnd.START
        try:
            if not self._is_new(owned):
                place = after_no_commit(self._settings.reset_policy, owned.tp)
        except NoOffsetError as error:
            owned.fail(error, blocked=True)
        else:
            owned.position = owned.position.after(ResetOwed(seek, place))

    def _is_new(self, owned: Owned) -> bool:
        if not self._settings.new_partitions_from_start:
            return False
        return owned.renewed or self.history.is_new(owned.tp)

    # -- places in logs --------------------------------------------------------------------

    def _start_lookups(self, tasks: TaskGroup, now: float) -> None:
        by_node: dict[int, list[_Lookup]] = {}
        view = self._cluster.view
        for owned in self._waiting(PositionState.AWAITING_RESET, now):
            leader = view.leader(owned.tp)
            if leader is None:
                self._seek_leader(owned)
            elif leader not in self._busy:
                seek, epoch = owned.position.seek, view.leader_epoch(owned.tp)
                by_node.setdefault(leader, []).append(_Lookup(owned, seek, epoch))
        for node_id, lookups in by_node.items():
            self._busy.add(node_id)
            tasks.start_soon(self._look_up, node_id, lookups)

    def _seek_leader(self, owned: Owned) -> None:
        self._put_off(owned, "no broker that can be reached leads it")
        topic = self._cluster.view.topics.get(owned.tp.topic)
        if topic is None or not (topic.is_gone or topic.is_uncertain):
            self._cluster.invalidate()

    async def _look_up(self, node_id: int, lookups: list[_Lookup]) -> None:
        try:
            found = await ask_leader(
                self._cluster,
                node_id,
                self._cluster.view,
                {each.owned.tp: self._wanted(each.owned) for each in lookups},
                isolation=self._settings.isolation_level,
                timeout=self._settings.request_timeout,
            )
            for each in lookups:
                owned = each.owned
                if self._owned.of(owned.claim) is owned and owned.position.seek == each.seek:
                    self._settle(each, found.get(owned.tp))
        except (TransportError, ProtocolError, TimeoutError) as error:
            log.debug("offsets of node=%d could not be asked: %s", node_id, error)
            for each in lookups:
                self._put_off(each.owned, f"node {node_id} did not tell its offset: {error}")
        except KGroupError as error:
            self._fatal = error
        finally:
            self._busy.discard(node_id)
            self._notify()

    def _wanted(self, owned: Owned) -> OffsetSpec | int:
        """Return what to ask of the leader, at this moment."""
        place = owned.position.end
        if owned.fresh and self._is_new(owned):
            # Its topic may have become known after the question for committed offsets.
            place = LogEnd.START
        match place:
            case Since(none_yet=True, end=None):
                return OffsetSpec.LATEST
            case Since(age=age):
                return max(round((self._cluster.ports.wall() - age) * 1000), 0)
            case LogEnd.START:
                return OffsetSpec.EARLIEST
            case LogEnd.END | None:
                return OffsetSpec.LATEST
            case _:
                assert_never(place)

    def _settle(self, lookup: _Lookup, answer: LeaderSays | None) -> None:
        owned = lookup.owned
        if answer is None:
            self._put_off(owned, "the leader's answer left it out")
            return
        why = f"{_API.name}: {error_name(answer.code)}"
        match reaction(_API, answer.code):
            case Reaction.SUCCEED:
                self._place(lookup, answer.found)
            case Reaction.REFRESH:
                self._put_off(owned, why)
                self._cluster.invalidate()
            case Reaction.RETRY:
                self._put_off(owned, why)
            case Reaction.UNAUTHORIZED:
                self._put_off(owned, why)
                error = UnauthorizedError(_API.name, answer.code, [owned.tp.topic])
                owned.fail(error, blocked=False)
            case _:
                owned.fail(BrokerError(_API.name, answer.code, str(owned.tp)), blocked=True)

    def _place(self, lookup: _Lookup, found: ListedOffset | None) -> None:
        owned = lookup.owned
        match owned.position.end, found:
            case Since(none_yet=True, end=None) as since, ListedOffset(offset=end):
                since = replace(since, end=end)
                owned.position = owned.position.after(ResetOwed(lookup.seek, since))
            case Since(none_yet=False) as since, None:
                since = replace(since, none_yet=True)
                owned.position = owned.position.after(ResetOwed(lookup.seek, since))
            case Since(end=int(end)), None:
                # No record is that young: the next one is (KIP-1106).
                self.jumps.found(owned, lookup.seek, ListedOffset(end), lookup.leader_epoch)
            case _, ListedOffset():
                self.jumps.found(owned, lookup.seek, found, lookup.leader_epoch)
            case _:
                self._put_off(owned, "its leader named no offset")


def _is_about(error: BrokerError, tp: TopicPartition) -> bool:
    """Tell whether a refusal to read committed offsets is about a partition."""
    one_by_one = error.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return not (one_by_one and isinstance(error, UnauthorizedError)) or tp.topic in error.resources
