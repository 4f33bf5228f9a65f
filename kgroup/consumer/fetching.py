"""Fetching ahead: one Fetch in flight per broker, partitions in fair rotation.

Decides: which partitions the next Fetch to a broker asks for, and what an answer changes.
Never: fetches for a partition that is paused, full, not positioned or in error; lets one
partition's stock hold up another's: each has its own equal share of the bytes held ready.
Never keeps what came back under a claim that is over or a position that was moved:
1. a Fetch is sent for a claim at an offset; 2. the claim ends, or the application seeks;
3. the answer comes: its claim or its seek number is not the present one, it is dropped.
KIPs: 98, 227, 320, 516.
"""

import logging
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.config import FetchSettings
from kgroup.consumer.chunk import Chunk, read_chunk
from kgroup.consumer.fetch_requests import Asked, answered, fetch_request
from kgroup.consumer.owned import Owned, OwnedPartitions
from kgroup.consumer.pulses import Pulses
from kgroup.errors import (
    BrokerError,
    CorruptRecordError,
    KGroupError,
    OffsetOutOfRangeError,
    ProtocolError,
    TransportError,
    UnauthorizedError,
)
from kgroup.journal import FetchAnswered, FetchIssued, Sink
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.backoff import Backoff
from kgroup.net.cluster import Cluster, Lane
from kgroup.offsets.positions import PositionState, Received, ResetOwed
from kgroup.offsets.reset import after_out_of_range
from kgroup.types import IsolationLevel
from kgroup.wire.messages import FetchRequest, FetchResponse, PartitionData

__all__ = ["Fetching"]

log = logging.getLogger(__name__)

_API: Final = ApiKey.FETCH
_SHORT_WAIT: Final = 0.05
"""Longest wait of a broker when some of its partitions are left out because they are full: they
must not wait for the quiet ones once they have room again."""
_LOOK_AGAIN: Final = 1.0
_MIN_SHARE: Final = 16 * 1024


class Fetching:
    """Keeps buffers filled.

    Args:
        settings: sizes and patience.
        cluster: connections, metadata, clock; not owned.
        owned: what is fetched for, and where it is kept.
        pulses: waited for, and fired when something came.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        owned: OwnedPartitions,
        pulses: Pulses,
        sink: Sink,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._owned = owned
        self._sink = sink
        self._pulses = pulses
        self._busy: set[int] = set()
        self._failures: dict[int, int] = {}
        self._turn = 0
        self._fatal: KGroupError | None = None

    async def run(self) -> None:
        """Fetch until cancelled.

        Raises:
            UnsupportedVersionError: a broker cannot be asked at all.
        """
        async with anyio.create_task_group() as tasks:
            while self._fatal is None:
                self._start_due(tasks)
                with anyio.move_on_after(self._until_next()):
                    await self._pulses.work.wait()
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    # -- what to ask -----------------------------------------------------------------------

    def _start_due(self, tasks: TaskGroup) -> None:
        now = self._cluster.ports.clock()
        share = self._share()
        by_node: dict[int, list[Owned]] = {}
        crowded: set[int] = set()
        for owned in self._owned:
            if owned.paused or owned.position.state is not PositionState.FETCHING:
                continue
            leader = self._cluster.view.leader(owned.tp)
            if leader is None:
                self._seek_leader(owned, now)
            elif owned.buffered >= share:
                crowded.add(leader)
            elif owned.asks(now) and leader not in self._busy:
                by_node.setdefault(leader, []).append(owned)
        for node_id, partitions in by_node.items():
            partitions.sort(key=lambda owned: owned.turn)
            self._busy.add(node_id)
            tasks.start_soon(self._serve, node_id, partitions, node_id in crowded)

    def _seek_leader(self, owned: Owned, now: float) -> None:
        if owned.asks(now):
            owned.put_off(now, self._settings.retry_backoff, self._settings.retry_backoff_max)
            self._cluster.invalidate()

    def _share(self) -> int:
        """Return how many bytes each claim may have in stock."""
        return max(self._settings.prefetch_max_bytes // max(len(self._owned), 1), _MIN_SHARE)

    def _until_next(self) -> float:
        now = self._cluster.ports.clock()
        waits = [each.retry_at - now for each in self._owned if not each.blocked]
        return min((wait for wait in waits if wait > 0), default=_LOOK_AGAIN)

    # -- one request -----------------------------------------------------------------------

    async def _serve(self, node_id: int, partitions: list[Owned], crowded: bool) -> None:  # noqa: FBT001 - start_soon takes no keywords
        try:
            await self._fetch(node_id, partitions, crowded=crowded)
        except (TransportError, ProtocolError, TimeoutError) as error:
            failures = self._failures[node_id] = self._failures.get(node_id, 0) + 1
            log.debug("fetch node=%d failed: %s", node_id, error)
            await anyio.sleep(self._pause(failures))
        except KGroupError as error:
            self._fatal = error
        finally:
            self._busy.discard(node_id)
            self._pulses.work.fire()

    def _pause(self, failures: int) -> float:
        settings = self._settings
        backoff = Backoff(settings.retry_backoff, settings.retry_backoff_max, failures=failures)
        return backoff.pause(self._cluster.ports.dice)

    async def _fetch(self, node_id: int, partitions: list[Owned], *, crowded: bool) -> None:
        settings = self._settings
        max_wait = min(settings.max_wait, _SHORT_WAIT) if crowded else settings.max_wait
        asked = [
            Asked(owned, owned.position.seek, owned.position.offset)
            for owned in partitions
            if owned.position.offset is not None
        ]
        request = fetch_request(
            asked, self._cluster.view, settings, max_wait=max_wait, share=self._share()
        )
        for each in asked:
            self._sink.emit(FetchIssued(each.owned.claim, each.offset, node_id))
        answer = await self._cluster.send(
            node_id, request, lane=Lane.FETCH, timeout=max_wait + settings.request_timeout
        )
        self._take(asked, request, answer)
        if answer.error_code:
            # Without a session nothing at the top concerns us: the broker cannot serve now.
            raise TransportError(str(BrokerError(_API.name, answer.error_code)))
        self._failures.pop(node_id, None)

    # -- what came -------------------------------------------------------------------------

    def _take(self, asked: list[Asked], request: FetchRequest, answer: FetchResponse) -> None:
        arrived = False
        for question, data in answered(asked, request, answer):
            if self._still_asked(question):
                self._settle(question, data)
                arrived = True
        if arrived:
            self._pulses.news.fire()

    def _still_asked(self, question: Asked) -> bool:
        owned = question.owned
        return (
            self._owned.of(owned.claim) is owned
            and owned.position.seek == question.seek
            and owned.position.offset == question.offset
        )

    def _settle(self, question: Asked, data: PartitionData) -> None:
        owned = question.owned
        match reaction(_API, data.error_code):
            case Reaction.SUCCEED:
                self._keep(question, data)
                return
            case Reaction.REFRESH:
                self._put_off(owned)
                self._cluster.invalidate()
            case Reaction.RETRY:
                self._put_off(owned)
            case Reaction.OUT_OF_RANGE:
                self._out_of_range(question)
            case Reaction.UNAUTHORIZED:
                self._put_off(owned)
                error = UnauthorizedError(_API.name, data.error_code, [owned.tp.topic])
                owned.fail(error, blocked=False)
            case Reaction.CORRUPT:
                what = f"{owned.tp} at offset {question.offset}"
                owned.fail(CorruptRecordError(what, "its leader says so"), blocked=True)
            case _:
                owned.fail(BrokerError(_API.name, data.error_code, str(owned.tp)), blocked=True)
        self._tell(question, question.offset, data.error_code)

    def _put_off(self, owned: Owned) -> None:
        now = self._cluster.ports.clock()
        owned.put_off(now, self._settings.retry_backoff, self._settings.retry_backoff_max)

    def _out_of_range(self, question: Asked) -> None:
        owned = question.owned
        if owned.chunks:
            # What was fetched before comes first; then the same question gets the same answer.
            self._put_off(owned)
            return
        try:
            end = after_out_of_range(self._settings.reset_policy, owned.tp, question.offset)
        except OffsetOutOfRangeError as error:
            owned.fail(error, blocked=True)
            return
        log.warning(
            "partition=%s offset=%d out of range, reset to the %s of the log",
            owned.tp,
            question.offset,
            end.value,
        )
        owned.position = owned.position.after(ResetOwed(question.seek, end))

    def _keep(self, question: Asked, data: PartitionData) -> None:
        owned = question.owned
        chunk = read_chunk(
            data,
            question.offset,
            committed_only=self._settings.isolation_level is IsolationLevel.READ_COMMITTED,
            check_crcs=self._settings.check_crcs,
        )
        owned.succeeded()
        owned.heard(data)
        self._tell(question, chunk.next_offset, None)
        if chunk.next_offset > question.offset or chunk.error is not None:
            self._stock(question, chunk)
        elif chunk.size:
            # Bytes without a whole batch: asking again at once would only spin.
            self._put_off(owned)

    def _stock(self, question: Asked, chunk: Chunk) -> None:
        owned = question.owned
        self._turn += 1
        owned.turn = self._turn
        owned.chunks.append(chunk)
        owned.blocked = chunk.error is not None
        received = Received(question.seek, question.offset, chunk.next_offset, chunk.leader_epoch)
        owned.position = owned.position.after(received)

    def _tell(self, question: Asked, next_offset: int, error: int | None) -> None:
        answer = FetchAnswered(question.owned.claim, question.offset, next_offset, error)
        self._sink.emit(answer)
