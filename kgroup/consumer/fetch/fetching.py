"""Fetching ahead: one Fetch in flight per broker, partitions in fair rotation.

Decides: when a broker is asked, how long it may wait, and what its failing costs.
Never: lets one partition's buffer hold up another's: each has its own equal share of the bytes
held ready. Decides what is asked for (`roster`), or which part of that a Fetch says
(`kgroup.machine.fetch_session`).
KIPs: 98, 227 (sessions), 320, 392 (replicas close by).
"""

import logging
from typing import Final

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey, error_name
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Heard, OwnedPartitions
from kgroup.consumer.fetch.fetch_answers import Asked, FetchAnswers
from kgroup.consumer.fetch.positioning import Positioning
from kgroup.consumer.fetch.roster import Roster
from kgroup.errors import BrokerError, KGroupError, ProtocolError, TransportError
from kgroup.journal import FetchIssued, Sink
from kgroup.machine.backoff import Backoff
from kgroup.machine.fetch_session import Ask, FetchSession, Taken
from kgroup.net.cluster import Cluster, Lane
from kgroup.wire.messages import FetchRequest, FetchResponse

log = logging.getLogger(__name__)

_SHORT_WAIT: Final = 0.05
"""Longest wait of a broker when some of its partitions are left out because they are full: they
must not wait for the quiet ones once they have room again."""
_LOOK_AGAIN: Final = 30.0


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
        self._history = positioning.history
        self._answers = FetchAnswers(settings, cluster, owned, positioning.jumps, sink)
        self._sink = sink
        self._notifiers = notifiers
        self._roster = Roster(settings, cluster, owned, notifiers, self._answers.weights)
        self._heard: dict[int, Heard] = {}
        """When each broker has answered last, one for each session."""
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
                with anyio.move_on_after(self._roster.due_in(now, _LOOK_AGAIN)):
                    await self._notifiers.work.wait()
            tasks.cancel_scope.cancel()
        if self._fatal is not None:
            raise self._fatal

    def _start_due(self, tasks: TaskGroup, now: float) -> None:
        self._history.look()
        self._roster.look(now)
        for node_id in self._roster.wanting():
            if node_id not in self._busy:
                self._busy.add(node_id)
                tasks.start_soon(self._serve, node_id)

    # -- one request -----------------------------------------------------------------------

    async def _serve(self, node_id: int) -> None:
        try:
            await self._fetch(node_id)
        except (TransportError, ProtocolError, TimeoutError) as error:
            self._roster.leave_replica(node_id)
            failures = self._failures[node_id] = self._failures.get(node_id, 0) + 1
            log.debug("fetch node=%d failed: %s", node_id, error)
            await anyio.sleep(self._pause(node_id, failures))
        except KGroupError as error:
            self._fatal = error
        finally:
            self._busy.discard(node_id)
            self._roster.asked(node_id)
            self._notifiers.work.notify()

    def _pause(self, node_id: int, failures: int) -> float:
        settings = self._settings
        backoff = Backoff(settings.retry_backoff, settings.retry_backoff_max, failures=failures)
        return backoff.pause(self._cluster.ports.dice_for(f"FETCH from {node_id}").uniform(0, 1))

    async def _fetch(self, node_id: int) -> None:
        # Since the look that chose this broker a reader may have met damage, and stopped it.
        session, sent_at = self._roster.sessions[node_id], self._cluster.ports.clock()
        self._roster.look(sent_at)
        if not session.wants:
            return
        self._roster.asking(node_id)
        short = self._roster.is_crowded(node_id)
        max_wait = min(self._settings.max_wait, _SHORT_WAIT) if short else self._settings.max_wait
        ask = session.ask()
        for each in ask.named:
            offset = each.question.offset
            self._sink.emit(FetchIssued(each.claim, offset, node_id))
        answer = await self._send(node_id, session, ask, max_wait)
        taken = session.take(answer)
        if self._answers.take(taken.rows, answer, self._heard_at(node_id, ask)):
            self._notifiers.news.notify()
        if answer.error_code:
            self._refused(node_id, answer.error_code, taken)
            return
        now = self._cluster.ports.clock()
        # A broker that has nothing waits; an answer that waited may say nothing.
        waited = now - sent_at >= max_wait / 2
        if not waited and all(self._answers.left_open(each, now) for each, _ in taken.rows):
            self._refuse_empty(node_id, session, answer)
        self._failures.pop(node_id, None)

    async def _send(
        self, node_id: int, session: FetchSession[Asked], ask: Ask[Asked], max_wait: float
    ) -> FetchResponse:
        settings = self._settings
        request = FetchRequest(
            max_wait_ms=round(max_wait * 1000),
            min_bytes=settings.min_bytes,
            max_bytes=settings.max_bytes,
            isolation_level=settings.isolation_level.value,
            session_id=ask.session_id,
            session_epoch=ask.session_epoch,
            topics=ask.topics,
            forgotten_topics_data=ask.forgotten,
            rack_id=settings.client_rack or "",
        )
        timeout = max_wait + settings.request_timeout
        try:
            return await self._cluster.send(node_id, request, lane=Lane.FETCH, timeout=timeout)
        except BaseException:
            session.renew()
            raise

    def _heard_at(self, node_id: int, ask: Ask[Asked]) -> Heard:
        """Note an answer for all that its session holds; a full one begins anew."""
        now = self._cluster.ports.wall()
        if ask.session_epoch == 0:
            self._heard[node_id] = Heard(now)
        self._heard[node_id].at = now
        return self._heard[node_id]

    def _refused(self, node_id: int, code: int, taken: Taken[Asked]) -> None:
        """Recover from an answer that is an error as a whole.

        Raises:
            TransportError: the broker cannot serve now; it is asked again after a pause.
        """
        if taken.relearn:
            self._cluster.invalidate()
        if not taken.refused:
            raise TransportError(str(BrokerError(ApiKey.FETCH.name, code)))
        log.debug("fetch node=%d begins a new session: %s", node_id, error_name(code))

    def _refuse_empty(
        self, node_id: int, session: FetchSession[Asked], answer: FetchResponse
    ) -> None:
        """Pause after an answer that came at once with none of the partitions asked for.

        A broker that leaves out every partition, or sends them empty, would be asked again at
        once, and again, as fast as it can answer. One that wants silence (KIP-219) may do so.
        """
        words = "it answered without waiting, with nothing of what was asked"
        if answer.throttle_time_ms <= 0:
            session.renew()
            if node_id not in self._failures:
                log.warning("fetch node=%d: %s; asked again more and more seldom", node_id, words)
        raise ProtocolError(words)
