"""Does the present leader's log still hold what was read (KIP-320)?

Decides: which leader is asked about which positions, and what an answer means for each.
Never: lets a position that awaits its answer hold up another one: questions are grouped by
leader, one in flight to each, and a partition that fails waits by itself, with growing pauses.
Never asks a broker that is too old to answer this (before 2.3): the position counts as good,
as it always did there.

1. Records up to 20 are read. 2. The leader dies; a replica that only has 10 is elected, others
write 10 more. 3. A fetch at 20 finds nothing wrong. So when the leader epoch has changed, a
position that knows the epoch of the record before it is validated first: the leader is asked where
that epoch ends in its log. If that is before the position, the logs diverge there; else they agree.

A leader of an older epoch than the records that were read does not have them, which looks like a
truncation: 1. another member reads from leader 6, and commits; 2. this member only knows leader 5,
which was cut off; 3. it takes over. So metadata is asked for until it shows a leader as new as the
records.
"""

import logging

import anyio
from anyio.abc import TaskGroup

from kgroup.codes import ApiKey, error_name
from kgroup.config import FetchSettings
from kgroup.consumer.buffer.notifiers import Notifiers
from kgroup.consumer.buffer.owned import Owned, OwnedPartitions
from kgroup.consumer.fetch.jumps import Jumps
from kgroup.consumer.fetch.logs import TopicHistory
from kgroup.errors import KGroupError, UnsupportedVersionError
from kgroup.machine.reactions import Reaction, reaction
from kgroup.net.cluster import Cluster
from kgroup.net.log_offsets import EpochEnd, ask_epoch_ends
from kgroup.net.metadata import EMPTY_VIEW
from kgroup.net.verdict import refusal
from kgroup.offsets.positions import PositionState, Validated
from kgroup.values import dataclass

log = logging.getLogger(__name__)

_API = ApiKey.OFFSET_FOR_LEADER_EPOCH
_LOOK_AGAIN = 30.0
_WAITS_FOR_LEADER = 15
"""Questions for metadata before a leader is asked about an epoch newer than its own: with the
default pauses longer than a cluster takes to notice a dead leader."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One position as it stood when it was asked about, and the leader's epoch."""

    owned: Owned
    seek: int
    epoch: int
    leader_epoch: int


class Validating:
    """Asks leaders about positions that were good under another leader.

    Args:
        settings: patience.
        cluster: connections, metadata, clock; not owned.
        owned: the claims whose positions are checked.
        history: looked at before a position is asked about.
        jumps: moves positions that turn out to be gone.
        notifiers: waited for, and fired when a position is good.
    """

    def __init__(
        self,
        settings: FetchSettings,
        cluster: Cluster,
        owned: OwnedPartitions,
        history: TopicHistory,
        jumps: Jumps,
        notifiers: Notifiers,
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._owned = owned
        self._history = history
        self._jumps = jumps
        self._notifiers = notifiers
        self._busy: set[int] = set()
        self._seen = EMPTY_VIEW

    async def run(self) -> None:
        """Validate until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                # One instant for both: what is not due in the look must count in the wait.
                now = self._cluster.ports.clock()
                self._history.look()
                self._start_due(tasks, now)
                with anyio.move_on_after(self._until_next(now)):
                    await self._notifiers.work.wait()

    def _until_next(self, now: float) -> float:
        pauses = [each.retry_at - now for each in self._waiting() if each.retry_at > now]
        return min(pauses, default=_LOOK_AGAIN)

    def _waiting(self) -> list[Owned]:
        awaiting = PositionState.AWAITING_VALIDATION
        return [each for each in self._owned.changes.unsettled if each.position.state is awaiting]

    def _start_due(self, tasks: TaskGroup, now: float) -> None:
        view = self._cluster.view
        if view is not self._seen:
            self._seen = view
            for owned in self._owned:
                owned.led_under(view.leader_epoch(owned.tp))
        by_node: dict[int, list[_Question]] = {}
        for owned in self._waiting():
            if not owned.asks(now):
                continue
            leader = view.leader(owned.tp)
            question = _question(owned, view.leader_epoch(owned.tp))
            if question is not None and _is_behind(question):
                self._put_off(owned, "the leader that is known is older than what was read")
                self._cluster.invalidate()
            elif leader is None or question is None:
                self._put_off(owned, "no leader is known that could confirm it")
            elif leader not in self._busy:
                by_node.setdefault(leader, []).append(question)
        for node_id, questions in by_node.items():
            self._busy.add(node_id)
            tasks.start_soon(self._ask, node_id, questions)

    async def _ask(self, node_id: int, questions: list[_Question]) -> None:
        wanted = {each.owned.tp: each.epoch for each in questions}
        try:
            found = await ask_epoch_ends(
                self._cluster,
                node_id,
                self._cluster.view,
                wanted,
                timeout=self._settings.request_timeout,
            )
        except UnsupportedVersionError as error:
            log.debug("positions are not validated by node=%d: %s", node_id, error)
            for each in questions:
                self._good(each)
        except (KGroupError, TimeoutError) as error:
            # A fatal error meets the next fetch as well, which raises it.
            for each in questions:
                self._put_off(each.owned, f"node {node_id} did not confirm it: {error}")
        else:
            for each in questions:
                if self._still_asked(each):
                    self._settle(each, found.get(each.owned.tp))
        finally:
            self._busy.discard(node_id)
            self._notifiers.work.notify()
            self._notifiers.news.notify()

    def _still_asked(self, question: _Question) -> bool:
        owned = question.owned
        return self._owned.of(owned.claim) is owned and owned.position.seek == question.seek

    def _settle(self, question: _Question, end: EpochEnd | None) -> None:
        owned = question.owned
        code = 0 if end is None else end.code
        why = f"{_API.name}: {error_name(code)}" if code else "the leader's answer left it out"
        match reaction(_API, code):
            case Reaction.SUCCEED if end is not None:
                self._judge(question, end)
            case Reaction.REFRESH:
                self._put_off(owned, why)
                self._cluster.invalidate()
            case Reaction.SUCCEED | Reaction.RETRY:
                self._put_off(owned, why)
            case _:
                self._put_off(owned, why)
                owned.fail(refusal(_API, code, [owned.tp.topic]), blocked=False)

    def _judge(self, question: _Question, end: EpochEnd) -> None:
        offset = question.owned.position.offset
        holds = end.end_offset is not None and offset is not None and end.end_offset >= offset
        if holds and end.leader_epoch == question.epoch:
            self._good(question)
        else:
            self._jumps.diverged(question.owned, end, question.leader_epoch)

    def _good(self, question: _Question) -> None:
        owned = question.owned
        owned.position = owned.position.after(Validated(question.seek, question.leader_epoch))
        owned.succeeded()

    def _put_off(self, owned: Owned, why: str) -> None:
        settings, now = self._settings, self._cluster.ports.clock()
        owned.put_off(now, settings.retry_backoff, settings.retry_backoff_max, why)


def _is_behind(question: _Question) -> bool:
    """Tell whether a newer leader must be waited for; in the end the one that is known is asked."""
    return question.leader_epoch < question.epoch and question.owned.failures < _WAITS_FOR_LEADER


def _question(owned: Owned, leader_epoch: int | None) -> _Question | None:
    epoch = owned.position.leader_epoch
    if epoch is None or leader_epoch is None:
        return None
    return _Question(owned, owned.position.seek, epoch, leader_epoch)
