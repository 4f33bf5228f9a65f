"""Commits without membership: for a consumer that assigned its partitions by hand.

Decides: how often one commit is sent, and what is known about it afterwards.
Never: has two requests in flight; repeats one whose outcome is unknown.
KIPs: 211. Generation -1 and an empty member id are taken only while the group has no members.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import anyio

from kgroup.backends.backend import GroupBackend
from kgroup.backends.commit_journal import CommitJournal
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.errors import BrokerError, KGroupError
from kgroup.journal import Sink
from kgroup.membership.commits import CommitAnswer, read_commit, standalone_commit_request
from kgroup.net.cluster import Cluster, Lane
from kgroup.types import (
    Claim,
    CommitOutcome,
    CommitStatus,
    MemberState,
    OffsetAndMetadata,
    PartitionOutcome,
    TopicPartition,
)

__all__ = ["StandaloneCommits"]

_OUTSIDE: Final = frozenset(
    {MemberState.UNSUBSCRIBED, MemberState.LEFT, MemberState.FENCED, MemberState.FAILED}
)
"""Where a member of this consumer is none of the coordinator's any more."""

_Positions = dict[TopicPartition, OffsetAndMetadata]
_Outcomes = dict[TopicPartition, PartitionOutcome]


class StandaloneCommits:
    """Sends one commit after the other.

    Args:
        cluster: connections; not owned.
        sink: takes the journal's events.
        group_id: whose offsets.
        search: knows the coordinator.
        timeout: seconds until a commit is given up.
        pause: seconds between two tries.
    """

    def __init__(
        self,
        cluster: Cluster,
        sink: Sink,
        group_id: str,
        search: CoordinatorSearch,
        *,
        timeout: float,
        pause: float,
    ) -> None:
        self._cluster = cluster
        self._journal = CommitJournal(sink)
        self._group_id = group_id
        self._search = search
        self._timeout = timeout
        self._pause = pause
        self._turn = anyio.Lock()
        self.after: GroupBackend | None = None
        """A member of the same group in the same consumer, None without one."""

    async def commit(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        held: Mapping[TopicPartition, Claim],
    ) -> CommitOutcome:
        """Commit under claims; those that are over by the time it is sent are refused.

        Args:
            offsets: claim -> position.
            held: what is assigned; read when the commit's turn comes.
        """
        send = partial(self._in_turn, offsets, held)
        return await self._journal.told(offsets, send, asks=offsets)

    async def _in_turn(
        self,
        offsets: Mapping[Claim, OffsetAndMetadata],
        held: Mapping[TopicPartition, Claim],
    ) -> CommitOutcome:
        async with self._turn:
            await self._alone()
            waiting, outcomes = _split(offsets, held)
            return CommitOutcome(outcomes | await self._send(waiting))

    async def _alone(self) -> None:
        """Wait until this consumer's own member is out of the group; others are not waited for.

        1. The application unsubscribes, assigns by hand and commits at once. 2. LeaveGroup is on
        its way, on another connection. 3. A coordinator that gets the commit first refuses it.
        """
        if self.after is None:
            return
        with anyio.move_on_after(self._timeout):
            membership = self.after.membership
            while membership.state not in _OUTSIDE:
                membership = await self.after.membership_changed(membership)

    async def _send(self, waiting: _Positions) -> _Outcomes:
        """Send until every partition has an outcome or the time is over."""
        outcomes: _Outcomes = {}
        with anyio.move_on_after(self._timeout):
            while waiting:
                read = await self._send_once(waiting)
                outcomes |= read.outcomes
                waiting = {tp: each for tp, each in waiting.items() if tp in read.again}
                if waiting:
                    self._search.forget()
                    await anyio.sleep(self._pause)
        reason = "no coordinator took it in time"
        return outcomes | _all(waiting, CommitStatus.REFUSED, reason)

    async def _send_once(self, waiting: _Positions) -> CommitAnswer:
        try:
            node_id = await self._search.find()
        except BrokerError as error:
            outcomes = _all(waiting, CommitStatus.REFUSED, str(error), error.code)
            return CommitAnswer(outcomes, frozenset())
        request = standalone_commit_request(self._group_id, waiting)
        try:
            answer = await self._cluster.send(
                node_id, request, lane=Lane.HEARTBEAT, timeout=self._timeout
            )
        except (KGroupError, TimeoutError) as error:
            # It may have been carried out: it is not sent again, a newer commit may be.
            self._search.forget()
            reason = str(error) or type(error).__name__
            return CommitAnswer(_all(waiting, CommitStatus.UNKNOWN, reason), frozenset())
        return read_commit(waiting, answer)


def _split(
    offsets: Mapping[Claim, OffsetAndMetadata], held: Mapping[TopicPartition, Claim]
) -> tuple[_Positions, _Outcomes]:
    waiting = {claim.tp: each for claim, each in offsets.items() if held.get(claim.tp) == claim}
    over = {claim.tp: each for claim, each in offsets.items() if claim.tp not in waiting}
    reason = "the partition is not assigned any more"
    return waiting, _all(over, CommitStatus.REFUSED, reason)


def _all(
    offsets: _Positions, status: CommitStatus, reason: str, code: int | None = None
) -> _Outcomes:
    return {tp: PartitionOutcome(status, each, code, reason) for tp, each in offsets.items()}
