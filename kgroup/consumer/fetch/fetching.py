"""Fetching ahead: one Fetch in flight per broker, partitions in fair rotation.

Decides: which partitions the next Fetch to a broker asks for: of a partition's leader, or of the
replica the leader named, until the naming is too old, the replica is gone, or it fails.
Never: fetches for a partition that is paused, full, not positioned, not validated or in error;
lets one partition's buffer hold up another's: each has its own equal share of the bytes held ready.
KIPs: 98, 227, 320, 392 (replicas close by).
"""

import logging
from collections.abc import Iterator
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned, OwnedPartitions
from kgroup.consumer.fetch.fetch_answers import Asked, FetchAnswers, fetch_request
from kgroup.consumer.fetch.positioning import Positioning
from kgroup.errors import BrokerError, KGroupError, ProtocolError, TransportError
from kgroup.journal import FetchIssued, Sink
from kgroup.machine.backoff import Backoff
from kgroup.net.cluster import Cluster, Lane
from kgroup.offsets.positions import PositionState
from kgroup.wire.messages import FetchResponse

__all__ = ["Fetching"]

log = logging.getLogger(__name__)

_SHORT_WAIT: Final = 0.05
"""Longest wait of a broker when some of its partitions are left out because they are full: they
must not wait for the quiet ones once they have room again."""
_LOOK_AGAIN: Final = 30.0
_LONGEST_WAIT: Final = 5.0
"""Longest pause between two looks at a partition without a leader."""
_MIN_SHARE: Final = 16 * 1024


class Fetching:
    """Keeps buffers filled.

    Args:
        settings: sizes and patience.
        cluster: connections, metadata, clock; not owned.
        owned: the claims to fetch for; they keep the records.
        positioning: knows topics and moves positions.
        notifiers: waited for, and fired when records came.
        sink: takes the journal's events.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        owned: OwnedPartitions,
        positioning: Positioning,
        notifiers: Notifiers,
        sink: Sink,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._owned = owned
        self._history = positioning.history
        self._answers = FetchAnswers(settings, cluster, owned, positioning.jumps, sink)
        self._sink = sink
        self._notifiers = notifiers
        self._busy: set[int] = set()
        self._failures: dict[int, int] = {}
        self._fatal: KGroupError | None = None

    async def run(self) -> None:
        """Fetch until cancelled.

        Raises:
            UnsupportedVersionError: a broker cannot be asked at all.
        """
        async with anyio.create_task_group() as tasks:
            while self._fatal is None:
                # One instant for both: what is not due in the look must count in the wait.
                now = self._cluster.ports.clock()
                self._start_due(tasks, now)
                with anyio.move_on_after(self._until_next(now)):
                    await self._notifiers.work.wait()
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    # -- what to ask -----------------------------------------------------------------------

    def _start_due(self, tasks: TaskGroup, now: float) -> None:
        self._history.look()
        share = self._share()
        by_node: dict[int, list[Owned]] = {}
        crowded: set[int] = set()
        for owned in self._owned:
            if owned.paused or owned.position.state is not PositionState.FETCHING:
                continue
            source = self._source(owned, now)
            if source is None:
                self._seek_leader(owned, now)
            elif source in self._busy:
                continue
            elif owned.chunks and owned.buffered >= share:
                crowded.add(source)
            elif owned.asks(now) and self._is_good(owned):
                by_node.setdefault(source, []).append(owned)
        for node_id, partitions in by_node.items():
            partitions.sort(key=lambda owned: owned.turn)
            self._busy.add(node_id)
            tasks.start_soon(self._serve, node_id, partitions, node_id in crowded)

    def _is_good(self, owned: Owned) -> bool:
        """Tell whether its leader is the one the position is good under; else it is validated."""
        owned.led_under(self._cluster.view.leader_epoch(owned.tp))
        if owned.position.state is PositionState.FETCHING:
            return True
        self._notifiers.work.notify()
        return False

    def _source(self, owned: Owned, now: float) -> int | None:
        """Return the broker to fetch from, None while there is none."""
        view, replica = self._cluster.view, owned.replica
        if replica is not None:
            if now < replica.until and view.serves(owned.tp, replica.node_id):
                return replica.node_id
            owned.replica = None
        return view.leader(owned.tp)

    def _seek_leader(self, owned: Owned, now: float) -> None:
        if not owned.asks(now):
            return
        settings = self._settings
        why = "no broker that can be reached leads it"
        owned.put_off(now, settings.retry_backoff, _LONGEST_WAIT, why)
        known = self._cluster.view.partition(owned.tp)
        topic = self._cluster.view.topics.get(owned.tp.topic)
        waited_for = topic is not None and (topic.is_gone or topic.is_uncertain)
        # Metadata that has no leader is refreshed anyway (`RefreshPlan`).
        if not waited_for and (known is None or known.leader is not None):
            self._cluster.invalidate()

    def _share(self) -> int:
        """Return how many bytes each claim may have in buffer."""
        return max(self._settings.prefetch_max_bytes // max(len(self._owned), 1), _MIN_SHARE)

    def _until_next(self, now: float) -> float:
        waits = [each.retry_at - now for each in self._owned if not each.blocked]
        return min((wait for wait in waits if wait > 0), default=_LOOK_AGAIN)

    # -- one request -----------------------------------------------------------------------

    async def _serve(self, node_id: int, partitions: list[Owned], crowded: bool) -> None:  # noqa: FBT001 - start_soon takes no keywords
        try:
            await self._fetch(node_id, partitions, crowded=crowded)
        except (TransportError, ProtocolError, TimeoutError) as error:
            self._leave_replica(node_id, partitions)
            failures = self._failures[node_id] = self._failures.get(node_id, 0) + 1
            log.debug("fetch node=%d failed: %s", node_id, error)
            await anyio.sleep(self._pause(node_id, failures))
        except KGroupError as error:
            self._fatal = error
        finally:
            self._busy.discard(node_id)
            self._notifiers.work.notify()

    def _leave_replica(self, node_id: int, partitions: list[Owned]) -> None:
        """Ask the leaders again: the replica they named does not answer."""
        for owned in partitions:
            if owned.replica is not None and owned.replica.node_id == node_id:
                owned.replica = None

    def _pause(self, node_id: int, failures: int) -> float:
        settings = self._settings
        backoff = Backoff(settings.retry_backoff, settings.retry_backoff_max, failures=failures)
        return backoff.pause(self._cluster.ports.dice_for(f"FETCH from {node_id}").uniform(0, 1))

    async def _fetch(self, node_id: int, partitions: list[Owned], *, crowded: bool) -> None:
        settings = self._settings
        max_wait = min(settings.max_wait, _SHORT_WAIT) if crowded else settings.max_wait
        asked = list(self._questions(node_id, partitions))
        if not asked:
            return
        request = fetch_request(
            asked, self._cluster.view, settings, max_wait=max_wait, share=self._share()
        )
        for each in asked:
            self._sink.emit(FetchIssued(each.owned.claim, each.offset, node_id))
        sent_at = self._cluster.ports.clock()
        answer = await self._cluster.send(
            node_id, request, lane=Lane.FETCH, timeout=max_wait + settings.request_timeout
        )
        if self._answers.take(asked, request, answer):
            self._notifiers.news.notify()
        if answer.error_code:
            # Without a session nothing at the top concerns us: the broker cannot serve now.
            raise TransportError(str(BrokerError(ApiKey.FETCH.name, answer.error_code)))
        now = self._cluster.ports.clock()
        # A broker that has nothing waits; an answer that waited may say nothing.
        waited = now - sent_at >= max_wait / 2
        if not waited and all(self._answers.left_open(each, now) for each in asked):
            self._refuse_empty(node_id, answer)
        self._failures.pop(node_id, None)

    def _refuse_empty(self, node_id: int, answer: FetchResponse) -> None:
        """Pause after an answer that came at once with none of the partitions asked for.

        A broker that leaves out every partition, or sends them empty, would be asked again at
        once, and again, as fast as it can answer. One that wants silence (KIP-219) may do so.
        """
        words = "it answered without waiting, with nothing of what was asked"
        if node_id not in self._failures and answer.throttle_time_ms <= 0:
            log.warning("fetch node=%d: %s; asked again more and more seldom", node_id, words)
        raise ProtocolError(words)

    def _questions(self, node_id: int, partitions: list[Owned]) -> Iterator[Asked]:
        view = self._cluster.view
        for owned in partitions:
            position, epoch = owned.position, view.leader_epoch(owned.tp)
            # Between choosing it and asking, a reader may have met damage and stopped it.
            if owned.blocked or position.offset is None:
                continue
            if position.state is not PositionState.FETCHING:
                continue
            follower = owned.replica is not None and owned.replica.node_id == node_id
            yield Asked(owned, position.seek, position.offset, epoch, node_id, follower)
