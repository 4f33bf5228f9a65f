"""The backend of a consumer that assigns by hand: no group decides, nothing is ever taken away.

Decides: that claims begin at `assign` and end when a later `assign` leaves the partition out;
that commits go out without membership (generation -1, no member id), which a coordinator takes
only while the group has no members; so they wait until this consumer's own member has left.
Never: has a lease: any other consumer may read the same partitions (exempt from G3 to G5).
"""

from collections.abc import Collection, Mapping
from functools import partial
from itertools import count
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kgroup.backends.backend import GroupBackend
from kgroup.backends.commit_journal import CommitJournal
from kgroup.backends.coordinator_search import CoordinatorSearch
from kgroup.backends.offset_reading import Asker, read_committed_offsets
from kgroup.errors import (
    BrokerError,
    IllegalStateError,
    KGroupError,
    NotConnectedError,
    TlsError,
)
from kgroup.journal import Sink
from kgroup.machine.commits import CommitAnswer, read_commit, standalone_commit_request
from kgroup.net.cluster import Cluster, Lane
from kgroup.net.ports import Notifier
from kgroup.types import (
    Cause,
    ChangeKind,
    Claim,
    CommitOutcome,
    CommitStatus,
    Generation,
    Leave,
    Membership,
    MemberState,
    OffsetAndMetadata,
    OwnershipChange,
    PartitionOutcome,
    Subscription,
    TopicPartition,
)

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
        group_id: the group whose offsets are read.
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
        return await self._journal.journalled(offsets, send, asks=offsets)

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
                node_id, request, lane=Lane.COMMIT, timeout=self._timeout
            )
        except (NotConnectedError, TlsError):
            self._search.forget()
            return CommitAnswer({}, frozenset(waiting))
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


# -- standalone ------------------------------------------------------------------------------------


_FIRST_SERIAL: Final = 1 << 40
"""Above every serial a group backend of the same consumer reaches: no two claims are alike."""


class StandaloneBackend:
    """Owns what the application assigns; implements `kgroup.backends.backend.GroupBackend`.

    Args:
        cluster: connections and clock; not owned.
        sink: takes the journal's events.
        group_id: the group whose offsets are read and committed, None for no group.
        timeout: seconds until a commit is given up.
        pause: seconds between two tries.
    """

    def __init__(
        self, cluster: Cluster, sink: Sink, group_id: str | None, *, timeout: float, pause: float
    ) -> None:
        self._cluster = cluster
        self._group_id = group_id
        self._claims: dict[TopicPartition, Claim] = {}
        self._serials = count(_FIRST_SERIAL)
        self._changes = count(1)
        self._left = False
        self._news = Notifier()
        self._search: CoordinatorSearch | None = None
        self._commits: StandaloneCommits | None = None
        if group_id is not None:
            self._search = CoordinatorSearch(cluster, group_id, timeout=timeout, pause=pause)
            self._commits = StandaloneCommits(
                cluster, sink, group_id, self._search, timeout=timeout, pause=pause
            )

    def follow(self, group: GroupBackend) -> None:
        """Have commits wait until another backend of this consumer has left the same group."""
        if self._commits is not None:
            self._commits.after = group

    # -- ownership -------------------------------------------------------------------------

    @staticmethod
    def minted(claim: Claim) -> bool:
        """Tell whether a claim began here, and not in a group."""
        return claim.serial >= _FIRST_SERIAL

    def assign(self, partitions: Collection[TopicPartition]) -> tuple[OwnershipChange, ...]:
        """Own exactly these partitions; return what that ends and begins, to carry out now."""
        self._cluster.watch(frozenset(tp.topic for tp in partitions))
        return self.own(partitions)

    def own(self, partitions: Collection[TopicPartition]) -> tuple[OwnershipChange, ...]:
        """Own exactly these partitions, of topics that somebody else has watched."""
        wanted = frozenset(partitions)
        gone = tuple(claim for tp, claim in sorted(self._claims.items()) if tp not in wanted)
        kept = tuple(claim for tp, claim in sorted(self._claims.items()) if tp in wanted)
        fresh = sorted(wanted - self._claims.keys())
        added = tuple(Claim(tp, next(self._serials)) for tp in fresh)
        self._claims = {claim.tp: claim for claim in sorted(kept + added, key=lambda c: c.tp)}
        changes = []
        if gone:
            changes.append(self._change(ChangeKind.REVOKED, kept=kept, removed=gone))
        if added:
            changes.append(self._change(ChangeKind.ASSIGNED, added=added, kept=kept))
        self._news.notify()
        return tuple(changes)

    def _change(
        self,
        kind: ChangeKind,
        *,
        added: tuple[Claim, ...] = (),
        kept: tuple[Claim, ...] = (),
        removed: tuple[Claim, ...] = (),
    ) -> OwnershipChange:
        cause = Cause.CLOSING if self._left else Cause.SUBSCRIBED
        return OwnershipChange(kind, added, kept, removed, cause, None, next(self._changes))

    def subscribe(self, subscription: Subscription | None) -> None:
        """Give everything up with None; anything else is `assign`'s.

        Raises:
            IllegalStateError: topics or a pattern are asked for.
        """
        if subscription is not None and subscription.partitions is None:
            raise IllegalStateError("topics and patterns need a group; here only assign() works")
        self.assign(frozenset() if subscription is None else subscription.partitions or frozenset())

    async def next_change(self) -> OwnershipChange:
        """Wait for ever: `assign` returns its changes."""
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    def settled(self, change: OwnershipChange, *, failed: bool = False) -> None:
        """Nothing waits for this."""

    def drained(self, claim: Claim) -> None:
        """Nothing waits for this."""

    def taken(self, claim: Claim) -> None:
        """Nothing waits for this."""

    def note_poll(self) -> None:
        """There are no members to count."""

    def may_deliver(self, claim: Claim) -> bool:
        """Tell whether the claim is not over."""
        return self._claims.get(claim.tp) == claim and not self._left

    def token(self, claim: Claim) -> Generation | None:
        """Return nothing: no member is fenced."""
        del claim
        return None

    async def admit(self, claim: Claim, until: int) -> bool:
        """Tell the same: by hand is at least once."""
        del until
        return self.may_deliver(claim)

    # -- life ------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Wait until it is left."""
        task_status.started()
        while not self._left:
            await self._news.wait()

    async def leave(self, mode: Leave, reason: str, *, timeout: float) -> bool:
        """End; there is nobody to tell."""
        del mode, reason, timeout
        self._left = True
        self._news.notify()
        return False

    def enforce_rebalance(self, reason: str) -> None:
        """Refuse: there is no group.

        Raises:
            IllegalStateError: always.
        """
        raise IllegalStateError(f"nothing to rebalance ({reason}): partitions are assigned by hand")

    @property
    def takes_partitions(self) -> bool:
        """Whether exact partitions are what is asked for here: nothing else is."""
        return True

    @property
    def trouble(self) -> None:
        """Nothing: what is refused is refused to the call that asked."""
        return None

    @property
    def membership(self) -> Membership:
        """The present snapshot."""
        state = MemberState.STABLE if self._claims else MemberState.UNSUBSCRIBED
        return Membership(
            group_id=self._group_id,
            state=MemberState.LEFT if self._left else state,
            claims=tuple(self._claims.values()),
            coordinator=None if self._search is None else self._search.known,
        )

    async def membership_changed(self, seen: Membership) -> Membership:
        """Wait until the snapshot differs from `seen`."""
        while (snapshot := self.membership) == seen:
            await self._news.wait()
        return snapshot

    # -- offsets ---------------------------------------------------------------------------

    async def committed(
        self, partitions: Collection[TopicPartition], *, timeout: float, whole: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's committed positions; None everywhere without a group.

        Raises:
            BrokerError: the coordinator refused.
            TimeoutError: no coordinator answered in time.
        """
        search, group_id = self._search, self._group_id
        if search is None or group_id is None:
            return dict.fromkeys(partitions)
        return await read_committed_offsets(
            self._cluster,
            Asker(group_id),
            tuple(sorted(partitions)),
            search.asker(),
            whole=whole,
            timeout=timeout,
        )

    async def commit(self, offsets: Mapping[Claim, OffsetAndMetadata]) -> CommitOutcome:
        """Commit positions under their claims, one request after the other.

        Raises:
            IllegalStateError: there is no group to commit for.
        """
        if self._commits is None:
            raise IllegalStateError("there is no group_id to commit offsets for")
        return await self._commits.commit(offsets, self._claims)
