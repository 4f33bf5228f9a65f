"""Finding out where to begin: committed offsets first, the reset policy where there are none.

Decides: whom to ask for the position of each claim, and what an answer means for it.
Never: resets because of an error: a coordinator or leader that cannot answer is asked again.
"""

import logging
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.config import FetchSettings
from kgroup.consumer.delivery import Delivery
from kgroup.consumer.offset_lookup import FoundOffset, ask_offsets
from kgroup.consumer.owned import Owned
from kgroup.consumer.pulses import Pulses
from kgroup.errors import (
    BrokerError,
    KGroupError,
    NoOffsetError,
    ProtocolError,
    TransportError,
    UnauthorizedError,
)
from kgroup.journal import OffsetRead, PositionMove, PositionMoved, Sink
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.offsets.positions import CommittedRead, PositionState, ResetFound, ResetOwed, Sought
from kgroup.offsets.reset import LogEnd, after_no_commit
from kgroup.types import OffsetAndMetadata

__all__ = ["Positioning"]

log = logging.getLogger(__name__)

_API: Final = ApiKey.LIST_OFFSETS
_LOOK_AGAIN: Final = 1.0


class Positioning:
    """Gives every claim a position.

    Args:
        settings: reset policy and patience.
        cluster: connections, metadata, clock; not owned.
        delivery: its claims, its ledger and its backend, which knows what is committed.
        pulses: waited for, and fired when a position, or why there is none, is known.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        delivery: Delivery,
        pulses: Pulses,
        sink: Sink,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._owned = delivery.owned
        self._ledger = delivery.ledger
        self._gate = delivery.gate
        self._pulses = pulses
        self._sink = sink
        self._busy: set[int] = set()
        self._fatal: KGroupError | None = None

    async def run(self) -> None:
        """Look for positions until cancelled.

        Raises:
            UnsupportedVersionError: a broker cannot be asked at all.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_committed)
            while self._fatal is None:
                self._start_lookups(tasks)
                await self._wait()
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    def seek(self, owned: Owned, offset: int, leader_epoch: int | None = None) -> None:
        """Put a claim at an offset the application chose."""
        owned.position = owned.position.after(Sought(offset, leader_epoch))
        owned.sought += 1
        owned.forget_data()
        self._ledger.begin(owned.claim, offset, leader_epoch)
        self._sink.emit(PositionMoved(owned.claim, offset, PositionMove.SEEK))
        self._tell()

    def _waiting(self, state: PositionState) -> list[Owned]:
        now = self._cluster.ports.clock()
        return [each for each in self._owned if each.position.state is state and each.asks(now)]

    async def _wait(self) -> None:
        now = self._cluster.ports.clock()
        pauses = [each.retry_at - now for each in self._owned if each.retry_at > now]
        with anyio.move_on_after(min(pauses, default=_LOOK_AGAIN)):
            await self._pulses.work.wait()

    def _put_off(self, owned: Owned) -> None:
        now = self._cluster.ports.clock()
        owned.put_off(now, self._settings.retry_backoff, self._settings.retry_backoff_max)

    def _tell(self) -> None:
        self._pulses.work.fire()
        self._pulses.news.fire()

    # -- committed offsets -----------------------------------------------------------------

    async def _follow_committed(self) -> None:
        while True:
            waiting = self._waiting(PositionState.AWAITING_COMMITTED)
            if waiting:
                await self._read_committed(waiting)
            else:
                await self._wait()

    async def _read_committed(self, waiting: list[Owned]) -> None:
        asked = [(owned, owned.position.seek) for owned in waiting]
        try:
            found = await self._gate.backend.committed(
                [owned.tp for owned in waiting], timeout=self._settings.request_timeout
            )
        except BrokerError as error:
            for owned in waiting:
                self._put_off(owned)
                owned.fail(error, blocked=False)
            self._tell()
            return
        except (TransportError, ProtocolError, TimeoutError) as error:
            log.debug("committed offsets could not be read: %s", error)
            await anyio.sleep(self._settings.retry_backoff)
            return
        for owned, seek in asked:
            if self._owned.of(owned.claim) is owned and owned.tp in found:
                self._committed(owned, seek, found[owned.tp])
        self._tell()

    def _committed(self, owned: Owned, seek: int, committed: OffsetAndMetadata | None) -> None:
        before = owned.position
        if before.state is not PositionState.AWAITING_COMMITTED or before.seek != seek:
            return
        generation = self._gate.backend.membership.generation
        number = None if generation is None else generation.generation_id
        offset = None if committed is None else committed.offset
        self._sink.emit(OffsetRead(owned.claim, offset, number))
        owned.succeeded()
        if committed is not None:
            owned.position = before.after(CommittedRead(seek, committed))
            self._ledger.begin(
                owned.claim, committed.offset, committed.leader_epoch, committed=True
            )
            return
        try:
            end = after_no_commit(self._settings.reset_policy, owned.tp)
        except NoOffsetError as error:
            owned.fail(error, blocked=True)
        else:
            owned.position = before.after(ResetOwed(seek, end))

    # -- ends of logs ----------------------------------------------------------------------

    def _start_lookups(self, tasks: TaskGroup) -> None:
        by_node: dict[int, list[Owned]] = {}
        for owned in self._waiting(PositionState.AWAITING_RESET):
            leader = self._cluster.view.leader(owned.tp)
            if leader is None:
                self._put_off(owned)
                self._cluster.invalidate()
            elif leader not in self._busy:
                by_node.setdefault(leader, []).append(owned)
        for node_id, waiting in by_node.items():
            self._busy.add(node_id)
            tasks.start_soon(self._look_up, node_id, waiting)

    async def _look_up(self, node_id: int, waiting: list[Owned]) -> None:
        asked = [(owned, owned.position.seek) for owned in waiting]
        try:
            found = await ask_offsets(
                self._cluster,
                node_id,
                {owned.tp: owned.position.end or LogEnd.END for owned in waiting},
                self._settings.isolation_level,
                timeout=self._settings.request_timeout,
            )
            for owned, seek in asked:
                if self._owned.of(owned.claim) is owned and owned.position.seek == seek:
                    self._reset(owned, seek, found.get(owned.tp))
        except (TransportError, ProtocolError, TimeoutError) as error:
            log.debug("offsets of node=%d could not be asked: %s", node_id, error)
            await anyio.sleep(self._settings.retry_backoff)
        except KGroupError as error:
            self._fatal = error
        finally:
            self._busy.discard(node_id)
            self._tell()

    def _reset(self, owned: Owned, seek: int, found: FoundOffset | None) -> None:
        if found is None:
            self._put_off(owned)
            return
        match reaction(_API, found.code):
            case Reaction.SUCCEED:
                self._reset_to(owned, seek, found)
            case Reaction.REFRESH:
                self._put_off(owned)
                self._cluster.invalidate()
            case Reaction.RETRY:
                self._put_off(owned)
            case Reaction.UNAUTHORIZED:
                self._put_off(owned)
                error = UnauthorizedError(_API.name, found.code, [owned.tp.topic])
                owned.fail(error, blocked=False)
            case _:
                owned.fail(BrokerError(_API.name, found.code, str(owned.tp)), blocked=True)

    def _reset_to(self, owned: Owned, seek: int, found: FoundOffset) -> None:
        if found.offset is None:
            self._put_off(owned)
            return
        owned.forget_data()
        owned.position = owned.position.after(ResetFound(seek, found.offset, found.leader_epoch))
        self._ledger.begin(owned.claim, found.offset, found.leader_epoch)
        self._sink.emit(PositionMoved(owned.claim, found.offset, PositionMove.RESET))
