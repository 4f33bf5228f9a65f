"""Positions committed with the group coordinator, beside the log of claims.

Decides: the order: of a partition the newest position wins, also while an older one is under way;
and what an answer means for each question.
Never: holds up a heartbeat; sends one request before the answer to the last; commits as a member:
generation -1 and no member id are taken only while no native group of this name is active. Sends a
position, for the first time or again, of a partition that may have come to somebody else:
1. a commit waits for a coordinator that is loading; 2. the partition goes to another member, which
commits further on; 3. the coordinator is back, and the first one would take the position back.
KIPs: 211 (simple commits).

A member asks with every heartbeat, so there may be many questions and few answers: what waits goes
together, and a position that was overtaken while it waited is not sent any more. Its question is
answered with the newer one.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.codes import ErrorCode
from kgroup.errors import BrokerError, CommitFailedError, GroupError, KGroupError
from kgroup.machine.backoff import Backoff
from kgroup.machine.commits import read_commit, standalone_commit_request
from kgroup.marshal.events import CommitOffsets, OffsetsCommitted
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.ports import Notifier
from kgroup.types import (
    CommitOutcome,
    CommitStatus,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)
from kgroup.values import dataclass

_LOOK_AGAIN: Final = 30.0


@dataclass(slots=True, eq=False)
class _Question:
    """One question, the partitions that still lack an answer, and what was answered."""

    ticket: int
    deadline: float
    open: set[TopicPartition]
    failed: dict[TopicPartition, PartitionOutcome] = field(default_factory=dict)


@dataclass(slots=True)
class _Wanted:
    """The newest position of a partition, and the questions that it answers."""

    offset: OffsetAndMetadata
    deadline: float
    questions: list[_Question]


class OffsetCommits:
    """Commits for as long as it runs.

    Args:
        cluster: connections and clock; not owned.
        group_id: the group whose positions are committed.
        search: knows the coordinator.
        tell: hears how each question ended; called between two awaits, must not block.
        may: whether the position of a partition is to be moved still, asked before each sending.
    """

    def __init__(
        self,
        cluster: Cluster,
        group_id: str,
        search: CoordinatorSearch,
        tell: Callable[[OffsetsCommitted], None],
        *,
        may: Callable[[TopicPartition], bool] = lambda _: True,
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._search = search
        self._tell = tell
        self._may = may
        self._waiting: dict[TopicPartition, _Wanted] = {}
        self._sent: dict[TopicPartition, _Wanted] = {}
        self._work = Notifier()

    @property
    def topics(self) -> frozenset[str]:
        """Topics of commits without an answer yet; their log says later which member owns them."""
        return frozenset(tp.topic for tp in (*self._waiting, *self._sent))

    def commit(self, asked: CommitOffsets) -> None:
        """Have positions committed; of what waits for the same partition the newest counts."""
        deadline = self._cluster.ports.clock() + asked.timeout
        question = _Question(asked.ticket, deadline, set(asked.offsets))
        if not question.open:
            self._tell(OffsetsCommitted(asked.ticket))
        for tp, offset in asked.offsets.items():
            before = self._waiting.get(tp)
            questions = [] if before is None else before.questions
            latest = deadline if before is None else max(deadline, before.deadline)
            wanted = _Wanted(OffsetAndMetadata(offset), latest, [*questions, question])
            self._waiting[tp] = wanted
        self._work.notify()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Commit until cancelled; what has no answer by then stays without one."""
        task_status.started()
        net = self._cluster.settings
        patience = backoff = Backoff(net.retry_backoff, net.retry_backoff_max)
        dice = self._cluster.ports.dice_for("commits")
        while True:
            if not self._waiting:
                with anyio.move_on_after(_LOOK_AGAIN):
                    await self._work.wait()
                continue
            if await self._send():
                backoff = patience
            else:
                backoff = backoff.failed()
                await anyio.sleep(backoff.pause(dice.uniform(0, 1)))

    async def _send(self) -> bool:
        """Send what waits; tell whether the coordinator took it."""
        sent, self._waiting = self._waiting, {}
        self._sent = dict(sent)
        positions: dict[TopicPartition, OffsetAndMetadata] = {}
        deadline = max(wanted.deadline for wanted in sent.values())
        reason = "no coordinator took it in time"
        try:
            with anyio.fail_after(max(deadline - self._cluster.ports.clock(), 0)):
                node_id = await self._search.find()
                self._drop(sent)
                positions = {tp: wanted.offset for tp, wanted in sent.items()}
                if not positions:
                    return True
                answer = await self._cluster.send(
                    node_id,
                    standalone_commit_request(self._group_id, positions),
                    lane=Lane.CONTROL,
                    timeout=self._cluster.settings.request_timeout,
                )
        except BrokerError as error:
            for tp, wanted in sent.items():
                status, text = CommitStatus.REFUSED, str(error)
                self._settle(tp, wanted, PartitionOutcome(status, wanted.offset, error.code, text))
            return False
        except (KGroupError, TimeoutError) as error:
            self._search.forget()
            # What is sent again can be carried out twice: of one partition in the same order.
            self._again(sent, frozenset(sent), str(error) or reason)
            return False
        read = read_commit(positions, answer)
        for tp, outcome in read.outcomes.items():
            self._settle(tp, sent[tp], outcome)
        if read.again:
            self._search.forget()
            self._again(sent, read.again, reason)
        return not read.again

    def _drop(self, sent: dict[TopicPartition, _Wanted]) -> None:
        """Leave out what must not be moved any more; whether an earlier try did nobody knows."""
        for tp in [tp for tp in sent if not self._may(tp)]:
            wanted = sent.pop(tp)
            why = "its period of ownership ended before the coordinator took it"
            unknown = PartitionOutcome(CommitStatus.UNKNOWN, wanted.offset, None, why)
            self._settle(tp, wanted, unknown)

    def _again(
        self, sent: dict[TopicPartition, _Wanted], tps: frozenset[TopicPartition], why: str
    ) -> None:
        """Have partitions wait once more, unless their time is over."""
        now = self._cluster.ports.clock()
        for tp in tps:
            wanted, newer = sent[tp], self._waiting.get(tp)
            if newer is not None:
                newer.questions = [*wanted.questions, *newer.questions]
                newer.deadline = max(newer.deadline, wanted.deadline)
            elif wanted.deadline > now:
                self._waiting[tp] = wanted
            else:
                unknown = PartitionOutcome(CommitStatus.UNKNOWN, wanted.offset, None, why)
                self._settle(tp, wanted, unknown)
                continue
            self._sent.pop(tp, None)

    def _settle(self, tp: TopicPartition, wanted: _Wanted, outcome: PartitionOutcome) -> None:
        self._sent.pop(tp, None)
        for question in wanted.questions:
            if tp not in question.open:
                continue
            question.open.discard(tp)
            if outcome.status is not CommitStatus.COMMITTED:
                question.failed[tp] = outcome
            if not question.open:
                self._tell(OffsetsCommitted(question.ticket, self._error(question)))

    def _error(self, question: _Question) -> Exception | None:
        if not question.failed:
            return None
        codes = {outcome.code for outcome in question.failed.values()}
        if ErrorCode.UNKNOWN_MEMBER_ID in codes:
            text = (
                f"positions of group {self._group_id!r} were not committed: a native group is "
                "active under this id; stop it, or use another group id"
            )
            return GroupError(text, code=ErrorCode.UNKNOWN_MEMBER_ID)
        return CommitFailedError(CommitOutcome(dict(question.failed)))
